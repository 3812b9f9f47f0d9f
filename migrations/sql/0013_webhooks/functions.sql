CREATE FUNCTION keep_webhook_cursor_forward() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (NEW.after_revision, NEW.after_id) < (OLD.after_revision, OLD.after_id) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ZC003',
            MESSAGE = 'what was told is not taken back',
            TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION keep_webhook_cursor_forward() IS 'Trigger of webhook_cursors: an endpoint is told in one direction.';

CREATE TRIGGER webhook_cursors_forward BEFORE UPDATE ON webhook_cursors
FOR EACH ROW EXECUTE FUNCTION keep_webhook_cursor_forward();

CREATE TRIGGER webhook_cursors_claim_forward BEFORE UPDATE ON webhook_cursors
FOR EACH ROW EXECUTE FUNCTION keep_claim_forward();

GRANT SELECT, INSERT ON text_bands TO corrigenda_ingest;
GRANT SELECT ON text_bands TO corrigenda_backup, corrigenda_auditor;

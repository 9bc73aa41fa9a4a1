-- Whether a person was told that a file they deleted is kept (`heirloom status`): when, or NULL.
ALTER TABLE file_revisions ADD COLUMN said INTEGER;

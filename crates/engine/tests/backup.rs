//! A backup in one file, packed by the caller: the file gets its name only when it is whole.

use std::fs;
use std::path::Path;

use heirloom_engine::engine::{Engine, How, Options};
use heirloom_engine::error::{Error, ErrorKind};

#[test]
fn one_file_has_its_name_only_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(&folder.path().join("home"), How::Create, Options::default()).unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let to = out.join("copy.tar.zst");
    // The disk is full after half of the file was written.
    let failed = engine.backup_packed(&to, &|staged: &Path, file, _| {
        assert!(staged.join("backup.json").is_file() && !to.exists());
        fs::write(file, "half").unwrap();
        assert!(!to.exists(), "half of it has the name already");
        Err(Error::new(ErrorKind::Machine, "no room"))
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Machine);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "something is left of it");
    assert_eq!(engine.backups_seen().why.as_deref(), Some("no room"));
    // Another process made a file of this name meanwhile: it is not replaced.
    let refused = engine.backup_packed(&to, &|_, file, _| {
        fs::write(&to, "of another").unwrap();
        fs::write(file, "mine").unwrap();
        Ok(4)
    });
    assert!(refused.is_err());
    assert_eq!(fs::read_to_string(&to).unwrap(), "of another");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    fs::remove_file(&to).unwrap();
    let whole = engine.backup_packed(&to, &|_, file, _| {
        fs::write(file, "whole").unwrap();
        Ok(5)
    });
    assert_eq!(whole.unwrap().packed, Some(5));
    assert_eq!(fs::read_to_string(&to).unwrap(), "whole");
    assert_eq!((fs::read_dir(&out).unwrap().count(), engine.backups_seen().why), (1, None));
}

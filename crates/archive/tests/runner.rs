//! Archives written, opened, and refused where they are not what they were.

use std::fs;
use std::path::{Path, PathBuf};

use heirloom_archive::{Key, Lock, check, is_encrypted, recipients_of, unpack, write};
use heirloom_engine::error::ErrorKind;

/// A path of more than a hundred characters.
const LONG: &str = "workspaces/main/memory/preference/a-sentence-that-became-the-name-of-a-file-because-it-was-what-somebody-once-said.md";

fn folder(at: &Path) -> PathBuf {
    let folder = at.join("folder");
    fs::create_dir_all(folder.join("state")).unwrap();
    let ledger: Vec<u8> = (0..60_000u32).flat_map(|n| n.wrapping_mul(n).to_le_bytes()).collect();
    fs::write(folder.join("state/runtime.db"), &ledger).unwrap();
    fs::write(folder.join("config.toml"), "").unwrap();
    // Longer than a name that tar has room for.
    fs::create_dir_all(folder.join(LONG).parent().unwrap()).unwrap();
    fs::write(folder.join(LONG), "page").unwrap();
    let digest = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
    let list = format!(
        r#"{{"v":2,"files":{{"state/runtime.db":{{"bytes":{},"digest":"{}"}},"config.toml":{{"bytes":0,"digest":"{}"}},"{LONG}":{{"bytes":4,"digest":"{}"}}}}}}"#,
        ledger.len(),
        digest(&ledger),
        digest(b""),
        digest(b"page")
    );
    fs::write(folder.join("backup.json"), list).unwrap();
    folder
}

fn same(a: &Path, b: &Path) -> bool {
    ["state/runtime.db", "config.toml", "backup.json", LONG]
        .iter()
        .all(|f| fs::read(a.join(f)).unwrap() == fs::read(b.join(f)).unwrap())
}

#[test]
fn what_is_packed_comes_back_and_only_with_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let from = folder(dir.path());
    let (mine, other) = (age::x25519::Identity::generate(), age::x25519::Identity::generate());
    let key_of = |i: &age::x25519::Identity| {
        use age::secrecy::ExposeSecret;
        Key::identities(&format!("# made by hand\n{}\n", i.to_string().expose_secret())).unwrap()
    };
    let cases = [
        ("plain", Lock::None, Key::None, Key::None),
        (
            "phrase",
            Lock::passphrase("correct horse\n").unwrap(),
            Key::passphrase("correct horse"),
            Key::passphrase("wrong horse"),
        ),
        ("key", recipients_of(&[mine.to_public().to_string()]).unwrap(), key_of(&mine), key_of(&other)),
    ];
    for (name, lock, right, wrong) in cases {
        let file = dir.path().join(name);
        let bytes = write(&from, &file, &lock, &mut |_| {}).unwrap();
        assert_eq!(bytes, fs::metadata(&file).unwrap().len());
        assert_eq!(is_encrypted(&file).unwrap(), name != "plain");
        let into = dir.path().join(format!("{name}-out"));
        fs::create_dir(&into).unwrap();
        unpack(&file, &right, &into).unwrap();
        assert!(same(&from, &into), "{name}");
        if name == "plain" {
            continue;
        }
        let raw = fs::read(&file).unwrap();
        assert!(!raw.windows(12).any(|w| w == b"state/runtime".split_at(12).0), "{name} hides its names");
        for key in [wrong, Key::None] {
            let error = check(&file, &key).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Refused, "{name}: {error}");
        }
    }
    assert!(recipients_of(&["AGE-SECRET-KEY-1ABC".into()]).unwrap_err().to_string().contains("public half"));
    assert!(Lock::passphrase("short").is_err());
    assert!(!format!("{:?}", Lock::passphrase("correct horse").unwrap()).contains("horse"));
}

#[test]
fn what_was_cut_or_changed_is_damaged_and_never_whole() {
    let dir = tempfile::tempdir().unwrap();
    let from = folder(dir.path());
    let mine = age::x25519::Identity::generate();
    let sealed = recipients_of(&[mine.to_public().to_string()]).unwrap();
    let key = {
        use age::secrecy::ExposeSecret;
        Key::identities(mine.to_string().expose_secret()).unwrap()
    };
    for (name, lock, key) in [("plain", Lock::None, Key::None), ("sealed", sealed, key)] {
        let file = dir.path().join(name);
        write(&from, &file, &lock, &mut |_| {}).unwrap();
        let whole = fs::read(&file).unwrap();
        let broken = dir.path().join("broken");
        let mut tried = 0;
        for n in 0..30 {
            let cut = whole.len() * n / 30;
            fs::write(&broken, &whole[..cut]).unwrap();
            assert!(check(&broken, &key).is_err(), "{name} cut at {cut}");
            let mut flipped = whole.clone();
            flipped[cut] ^= 1 << (n % 8);
            fs::write(&broken, &flipped).unwrap();
            // A bit of the packing's own header may say the same either way; what comes out is then what went in.
            let into = tempfile::tempdir().unwrap();
            assert!(unpack(&broken, &key, into.path()).is_err() || same(&from, into.path()), "{name} flipped at {cut}");
            tried += 1;
        }
        fs::write(&broken, &whole[..whole.len() - 1]).unwrap();
        assert!(check(&broken, &key).is_err(), "{name} without its last byte");
        assert_eq!(tried, 30);
    }
}

#[test]
fn hostile_archives_write_nothing_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let list = r#"{"files":{"a":{"bytes":1,"digest":"x"}}}"#;
    let entry = |path: &str, bytes: &[u8], kind: tar::EntryType| {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_entry_type(kind);
        header.set_link_name("/etc/passwd").unwrap();
        header.set_cksum();
        (header, bytes.to_vec())
    };
    let (plain, long) = (tar::EntryType::Regular, tar::EntryType::GNULongName);
    let cases = vec![
        vec![entry("../x", b"1", plain)],
        vec![entry("a", b"1", plain)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("../a", b"1", plain)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("/a", b"1", plain)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("a", b"", tar::EntryType::Symlink)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("a", b"", tar::EntryType::Link)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("a", &[b'1'; 9000], plain)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("b", b"1", plain)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("backup.json", list.as_bytes(), plain)],
        vec![entry("backup.json", list.as_bytes(), plain)],
        // A name of its own kind that is longer than any, one that leads out, and one that says a name twice.
        vec![entry("x", &[b'x'; 9000], long), entry("backup.json", list.as_bytes(), plain)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("x", b"../../a\0", long), entry("a", b"1", plain)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("x", b"/tmp/a\0", long), entry("a", b"1", plain)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("a", b"", tar::EntryType::GNUSparse)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("a", b"path=b\n", tar::EntryType::XHeader)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("a", b"", tar::EntryType::Fifo)],
        vec![entry("backup.json", list.as_bytes(), plain), entry("a", b"", tar::EntryType::Directory)],
        vec![],
    ];
    for (n, entries) in cases.into_iter().enumerate() {
        let mut tar = tar::Builder::new(zstd::Encoder::new(Vec::new(), 1).unwrap());
        for (header, bytes) in entries {
            tar.append(&header, bytes.as_slice()).unwrap();
        }
        let file = dir.path().join(format!("{n}.tar.zst"));
        fs::write(&file, tar.into_inner().unwrap().finish().unwrap()).unwrap();
        let into = dir.path().join(format!("out{n}"));
        fs::create_dir(&into).unwrap();
        let error = unpack(&file, &Key::None, &into).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "{n}: {error}");
        assert!(error.next_step().is_some(), "{n}: {error}");
        let left: Vec<_> = fs::read_dir(&into).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| name == "backup.json" || name == "a"), "{n}: {left:?}");
    }
    // More than the disk has: said before anything is written.
    let list = r#"{"files":{"a":{"bytes":9000000000000000000,"digest":"x"}}}"#;
    let mut tar = tar::Builder::new(zstd::Encoder::new(Vec::new(), 1).unwrap());
    let (header, bytes) = entry("backup.json", list.as_bytes(), plain);
    tar.append(&header, bytes.as_slice()).unwrap();
    let file = dir.path().join("huge.tar.zst");
    fs::write(&file, tar.into_inner().unwrap().finish().unwrap()).unwrap();
    let into = dir.path().join("huge");
    fs::create_dir(&into).unwrap();
    let error = unpack(&file, &Key::None, &into).unwrap_err();
    assert_eq!((error.kind(), fs::read_dir(&into).unwrap().count()), (ErrorKind::Machine, 0), "{error}");
    assert!(!dir.path().join("x").exists() && !dir.path().join("a").exists());
}

/// The work factor stands in the header of the file: too little protects nobody, and the library left alone measures the
/// machine. A foreign file that asks for much more work is refused before the work is done.
#[test]
fn a_passphrase_costs_the_work_of_the_program_age_and_never_much_more() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("one");
    write(&folder(dir.path()), &file, &Lock::passphrase("correct horse").unwrap(), &mut |_| {}).unwrap();
    let bytes = fs::read(&file).unwrap();
    let header = bytes.split(|b| *b == b'\n').nth(1).unwrap().to_vec();
    assert!(header.starts_with(b"-> scrypt ") && header.ends_with(b" 18"), "{}", String::from_utf8_lossy(&header));
    let asks = dir.path().join("asks");
    let at = b"age-encryption.org/v1\n".len() + header.len() - 2;
    fs::write(&asks, [&bytes[..at], b"30", &bytes[at + 2..]].concat()).unwrap();
    let refused = check(&asks, &Key::passphrase("correct horse")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert!(refused.to_string().contains("more work"), "{refused}");
}

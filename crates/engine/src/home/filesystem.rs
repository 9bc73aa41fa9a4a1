//! Detects network file systems, which lack the shared memory and working locks that SQLite's write-ahead log needs
//! (R3.4). This module does not look at mounts, devices or free space.

use super::Rooted;
use crate::error::{Error, Result};

/// A file system that must not hold a database.
struct Unfit {
    name: String,
    /// Whether the file system may be a local disk behind an interface that hides this; the error then also names the
    /// override.
    maybe_local: bool,
}

/// Refuses a directory on a network file system.
pub(super) fn check_local(dir: &Rooted) -> Result<()> {
    let Some(found) = unfit(dir)? else { return Ok(()) };
    let error = Error::refused(format!(
        "{} is on a network file system ({}), where a database can be damaged by two writers",
        dir.shown().display(),
        found.name
    ));
    Err(if found.maybe_local {
        error.hint(
            "keep the home on a local disk (--home or HEIRLOOM_HOME); if this one is local after all, set \
             HEIRLOOM_ALLOW_NETWORK_FS=1",
        )
    } else {
        error.hint("keep the home on a local disk: --home or HEIRLOOM_HOME")
    })
}

#[cfg(target_os = "linux")]
fn unfit(dir: &Rooted) -> Result<Option<Unfit>> {
    let stat = rustix::fs::fstatfs(dir.fd()).map_err(|e| Error::io("examine the file system of", dir.shown(), e))?;
    // The magic numbers are 32 bits wide; on some machines the field is a signed word.
    Ok(by_magic(stat.f_type as u32).map(|(name, maybe_local)| Unfit { name: name.into(), maybe_local }))
}

/// Returns the name of a network file system by its `statfs` number (`linux/magic.h` and the systems' own headers), and
/// whether it may hide a local disk: FUSE also serves NTFS and virtual machines' folders, 9p serves those and WSL's
/// drives.
#[cfg(target_os = "linux")]
fn by_magic(magic: u32) -> Option<(&'static str, bool)> {
    Some(match magic {
        0x6969 => ("NFS", false),
        0x517B | 0xFE53_4D42 => ("SMB", false),
        0xFF53_4D42 => ("CIFS", false),
        0x564C => ("NCP", false),
        0x5346_414F | 0x6B41_4653 => ("AFS", false),
        0x7375_7245 => ("Coda", false),
        0x00C3_6400 => ("Ceph", false),
        0x0BD0_0BD0 => ("Lustre", false),
        0x4750_4653 => ("GPFS", false),
        0x1983_0326 => ("BeeGFS", false),
        0x0116_1970 => ("GFS2", false),
        0x7461_636F => ("OCFS2", false),
        0x0102_1997 => ("9p", true),
        0x6573_5546 => ("FUSE", true),
        0x786F_4256 => ("VirtualBox shared folder", true),
        _ => return None,
    })
}

#[cfg(not(target_os = "linux"))]
fn unfit(dir: &Rooted) -> Result<Option<Unfit>> {
    /// `MNT_LOCAL` of `sys/mount.h`: the file system is stored on this machine.
    const LOCAL: u32 = 0x1000;
    let stat = rustix::fs::fstatfs(dir.fd()).map_err(|e| Error::io("examine the file system of", dir.shown(), e))?;
    if stat.f_flags & LOCAL != 0 {
        return Ok(None);
    }
    let name = stat.f_fstypename.iter().take_while(|c| **c != 0).map(|c| *c as u8 as char).collect::<String>();
    let maybe_local = name.contains("fuse");
    Ok(Some(Unfit { name, maybe_local }))
}

/// Returns the name of the network file system a folder is on, if it is on one. Such a file system does not report
/// changes made on other machines.
#[cfg(target_os = "linux")]
pub fn network_file_system(folder: &std::path::Path) -> Option<&'static str> {
    by_magic(rustix::fs::statfs(folder).ok()?.f_type as u32).map(|(name, _)| name)
}

#[cfg(not(target_os = "linux"))]
pub fn network_file_system(_folder: &std::path::Path) -> Option<&'static str> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_number() {
        for magic in [
            0x6969,
            0x517B,
            0xFE53_4D42,
            0xFF53_4D42,
            0x564C,
            0x5346_414F,
            0x6B41_4653,
            0x7375_7245,
            0x00C3_6400,
            0x0BD0_0BD0,
            0x4750_4653,
            0x1983_0326,
            0x0116_1970,
            0x7461_636F,
            0x0102_1997,
            0x6573_5546,
            0x786F_4256,
        ] {
            assert!(by_magic(magic).is_some(), "{magic:x}");
        }
        // ext4, btrfs, xfs, tmpfs, overlay, zfs: local.
        for magic in [0xEF53, 0x9123_683E, 0x5846_5342, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1] {
            assert!(by_magic(magic).is_none(), "{magic:x}");
        }
        assert!(by_magic(0x6573_5546).unwrap().1, "FUSE can be overridden");
    }
}

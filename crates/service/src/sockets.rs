//! The sockets of a service: a unix socket in the home for this user, and a TCP port on the loopback. Both can be
//! handed from one build to the next, so that no client is refused in between.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use heirloom_engine::error::{Error, Result};
use heirloom_engine::home::Home;

/// Variable that tells the next build that its standard input and output are sockets:
/// `<process id>:<path of the socket>`.
pub const INHERITED: &str = "HEIRLOOM_INHERITED";

/// Maximum length of a socket's path on this system, without the final zero byte.
const LONGEST: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// TCP address to listen on, beside the unix socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tcp {
    /// No TCP.
    No,
    /// This address, or any free port if its port is taken.
    Preferred(SocketAddr),
    /// Exactly this address.
    Only(SocketAddr),
}

/// The sockets of a service.
pub struct Sockets {
    pub unix: UnixListener,
    pub path: PathBuf,
    pub tcp: Option<TcpListener>,
    /// Reason why the address that was asked for is not the one listened on, which is the previous build's.
    pub refused: Option<String>,
}

impl Sockets {
    /// Opens the sockets. The service lock is held, so a socket file that exists has no listener and is replaced.
    pub fn open(home: &Home, tcp: Tcp) -> Result<Sockets> {
        if let Some(mut inherited) = inherited()? {
            let old = inherited.tcp.take();
            (inherited.tcp, inherited.refused) = instead_of(old, tcp)?;
            return Ok(inherited);
        }
        let tcp = open(tcp)?;
        let path = place(home.root())?;
        let unix = listen(&path)?;
        Ok(Sockets { unix, path, tcp, refused: None })
    }

    /// Returns the TCP address, if there is one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref()?.local_addr().ok()
    }
}

fn open(tcp: Tcp) -> Result<Option<TcpListener>> {
    Ok(match tcp {
        Tcp::No => None,
        Tcp::Only(at) => Some(bind(at)?),
        Tcp::Preferred(at) => match TcpListener::bind(at) {
            Ok(tcp) if is_loopback(at.ip()) => Some(tcp),
            Err(e) if e.kind() == std::io::ErrorKind::AddrInUse => Some(bind(SocketAddr::new(at.ip(), 0))?),
            _ => Some(bind(at)?),
        },
    })
}

/// Returns the TCP socket of the previous build if it has the address that is asked for now, otherwise a new one. An
/// address that cannot be had does not end a service that runs: it keeps the old one, and the reason is returned.
fn instead_of(old: Option<TcpListener>, tcp: Tcp) -> Result<(Option<TcpListener>, Option<String>)> {
    let Some(old) = old else { return Ok((open(tcp)?, None)) };
    let was = old.local_addr().ok();
    let is_same = |at: SocketAddr| was.is_some_and(|was| was.ip() == at.ip() && [0, was.port()].contains(&at.port()));
    match tcp {
        Tcp::No => Ok((None, None)),
        Tcp::Only(at) | Tcp::Preferred(at) if is_same(at) => Ok((Some(old), None)),
        Tcp::Only(at) => match bind(at) {
            Ok(new) => Ok((Some(new), None)),
            Err(e) => Ok((Some(old), Some(e.to_string()))),
        },
        // The previous build may have listened elsewhere because this port was taken, and it may still be.
        Tcp::Preferred(at) => Ok((Some(bind(at).unwrap_or(old)), None)),
    }
}

fn bind(at: SocketAddr) -> Result<TcpListener> {
    if !is_loopback(at.ip()) {
        return Err(Error::refused(format!("{at} is not an address of this machine alone")).hint(
            "the service listens on 127.0.0.1 or ::1 only; reach it from elsewhere through a tunnel such as ssh -L",
        ));
    }
    TcpListener::bind(at).map_err(|e| {
        Error::refused(format!("cannot listen on {at}"))
            .because(e)
            .hint("choose another port with --port, or 0 for any")
    })
}

/// The other addresses 127.x.x.x are refused, because a request for their name (`Host`) is not answered.
fn is_loopback(ip: IpAddr) -> bool {
    ip == Ipv4Addr::LOCALHOST || ip == Ipv6Addr::LOCALHOST
}

/// Returns the path of the unix socket: in the home, or, if that is too long for the system, in the user's runtime
/// folder.
fn place(root: &Path) -> Result<PathBuf> {
    let usual = root.join("run/heirloom.sock");
    if usual.as_os_str().len() <= LONGEST {
        return Ok(usual);
    }
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let usual_one = PathBuf::from(format!("/run/user/{}", rustix::process::geteuid().as_raw()));
    let mut folders = named.into_iter().chain([usual_one]);
    let Some(folder) = folders.find(|folder| is_mine_alone(folder)) else {
        return Err(Error::refused(format!("{} is too long a path for a socket", usual.display()))
            .hint("set XDG_RUNTIME_DIR to a folder that only you can enter, or move the home to a shorter path"));
    };
    let short = folder.join(format!("heirloom-{}.sock", short_name(root)));
    if short.as_os_str().len() > LONGEST {
        return Err(Error::refused(format!("{} is too long a path for a socket", short.display()))
            .hint("set XDG_RUNTIME_DIR to a shorter folder"));
    }
    Ok(short)
}

fn is_mine_alone(folder: &Path) -> bool {
    std::fs::symlink_metadata(folder).is_ok_and(|m| {
        m.is_dir() && m.uid() == rustix::process::geteuid().as_raw() && m.permissions().mode() & 0o077 == 0
    })
}

/// Returns 16 hex digits that identify a home.
fn short_name(root: &Path) -> String {
    let digest = heirloom_engine::home::digest(root.as_os_str().as_encoded_bytes());
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn listen(path: &Path) -> Result<UnixListener> {
    match std::fs::symlink_metadata(path) {
        Ok(m) if m.file_type().is_socket() => {
            std::fs::remove_file(path).map_err(|e| Error::io("remove the old socket", path, e))?;
        }
        Ok(_) => {
            return Err(Error::refused(format!("{} is there and no socket", path.display())).hint("move it away"));
        }
        Err(_) => {}
    }
    // The folder is accessible to the user alone, so nobody can connect before the mode is set.
    let unix = UnixListener::bind(path).map_err(|e| Error::io("listen on", path, e))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
        .map_err(|e| Error::io("set the mode of", path, e))?;
    Ok(unix)
}

/// Takes the sockets of the previous build: the unix socket is our standard input, the TCP socket our standard output.
/// Both are copied, and the null device takes their place, so that nothing else reads or prints there.
fn inherited() -> Result<Option<Sockets>> {
    let Some(said) = std::env::var_os(INHERITED) else { return Ok(None) };
    let said = said.to_string_lossy().into_owned();
    let Some((pid, path)) = said.split_once(':') else { return Ok(None) };
    // Child processes inherit the variable, too; the process id tells them apart.
    if pid != std::process::id().to_string() {
        return Ok(None);
    }
    let take = |fd: std::os::fd::BorrowedFd| -> std::io::Result<OwnedFd> { fd.try_clone_to_owned() };
    let failed = |e: std::io::Error| {
        Error::new(heirloom_engine::error::ErrorKind::Machine, "the sockets were not handed over").because(e)
    };
    let unix = UnixListener::from(take(std::io::stdin().as_fd()).map_err(failed)?);
    let tcp = TcpListener::from(take(std::io::stdout().as_fd()).map_err(failed)?);
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").map_err(failed)?;
    rustix::stdio::dup2_stdin(&null).map_err(|e| failed(e.into()))?;
    rustix::stdio::dup2_stdout(&null).map_err(|e| failed(e.into()))?;
    unix.local_addr().map_err(failed)?;
    // Without a port, the previous build passed the null device as standard output.
    let tcp = tcp.local_addr().is_ok().then_some(tcp);
    Ok(Some(Sockets { unix, path: PathBuf::from(path), tcp, refused: None }))
}

/// Returns the value of [`INHERITED`] for the next build.
pub fn handed_over(path: &Path) -> OsString {
    let mut said = OsString::from(format!("{}:", std::process::id()));
    said.push(path);
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_listened_on() {
        for at in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "127.0.0.2:0"] {
            let refused = bind(at.parse().unwrap()).unwrap_err();
            assert!(refused.to_string().contains("not an address of this machine alone"), "{refused}");
        }
        bind("127.0.0.1:0".parse().unwrap()).unwrap();
    }

    #[test]
    fn a_next_build_listens_where_it_is_told_to() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let at = |tcp: &TcpListener| tcp.local_addr().unwrap();
        let next = |old: &TcpListener, tcp| {
            let (tcp, refused) = instead_of(Some(old.try_clone().unwrap()), tcp).unwrap();
            (tcp.map(|tcp| at(&tcp)), refused)
        };
        let (old, taken) = (bind(any).unwrap(), bind(any).unwrap());
        let free = at(&bind(any).unwrap());
        assert_eq!(next(&old, Tcp::Only(any)), (Some(at(&old)), None), "any port will do");
        assert_eq!(next(&old, Tcp::Only(at(&old))), (Some(at(&old)), None));
        assert_eq!(next(&old, Tcp::Only(free)), (Some(free), None));
        assert_eq!(next(&old, Tcp::Preferred(free)), (Some(free), None));
        assert_eq!(next(&old, Tcp::Preferred(at(&taken))), (Some(at(&old)), None));
        assert_eq!(next(&old, Tcp::No), (None, None));
        let (kept, refused) = next(&old, Tcp::Only(at(&taken)));
        assert_eq!(kept, Some(at(&old)));
        let why = refused.unwrap();
        assert!(why.starts_with(&format!("cannot listen on {}", at(&taken))), "{why}");
    }

    #[test]
    fn a_path_that_is_too_long_gets_a_short_one() {
        let short = place(Path::new("/home/me/.heirloom")).unwrap();
        assert_eq!(short, Path::new("/home/me/.heirloom/run/heirloom.sock"));
        let long = PathBuf::from(format!("/{}", "a".repeat(150)));
        if let Ok(path) = place(&long) {
            assert!(path.as_os_str().len() <= LONGEST, "{}", path.display());
            assert_ne!(place(&PathBuf::from(format!("/{}", "b".repeat(150)))).unwrap(), path, "one for each home");
        }
    }
}

//! Reports the state of the process to the system that started it (`sd_notify`): a datagram to the socket named in
//! `NOTIFY_SOCKET`. Without that variable nothing is sent.

use std::os::unix::net::UnixDatagram;

/// Reports that requests are answered.
pub fn ready() {
    say("READY=1");
}

/// Reports that the process is ending.
pub fn stopping() {
    say("STOPPING=1");
}

fn say(what: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let Ok(socket) = UnixDatagram::unbound() else { return };
    let bytes = name.as_encoded_bytes();
    #[cfg(target_os = "linux")]
    if let Some(name) = bytes.strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt as _;
        if let Ok(address) = std::os::unix::net::SocketAddr::from_abstract_name(name) {
            let _ = socket.send_to_addr(what.as_bytes(), &address);
        }
        return;
    }
    if bytes.first() == Some(&b'/') {
        let _ = socket.send_to(what.as_bytes(), &name);
    }
}

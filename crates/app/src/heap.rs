//! The heap of processes that stay.

use std::os::unix::process::CommandExt as _;

use heirloom_service::INHERITED;

/// Environment for the heap of the C library, suited to a process that stays: the service, and the server of a program.
/// One arena for all threads: with an arena per thread, memory one thread has freed is not reused by others. Fixed
/// limits from which large pieces are mapped separately and free memory at the end is returned: glibc would otherwise
/// raise both limits to the largest request it ever saw, and keep that much for good.
const HEAP: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "262144"), ("MALLOC_TRIM_THRESHOLD_", "262144")];

/// Executes this program again with that heap, because it can only be chosen before a process starts. Returns if it has
/// it already, or cannot have it.
pub fn one() {
    let chosen = HEAP.iter().any(|(name, _)| std::env::var_os(name).is_some());
    if !cfg!(target_env = "gnu") || chosen || std::env::var_os(INHERITED).is_some() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        // If that fails, it runs with the default heap.
        let _ = std::process::Command::new(program).args(std::env::args_os().skip(1)).envs(HEAP).exec();
    }
}

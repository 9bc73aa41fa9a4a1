//! The queue: each job takes effect once, whichever worker does it.

use std::time::Duration;

use heirloom_engine::clock::Clock;
use heirloom_engine::index::Index;
use heirloom_engine::ledger::job_queue::{self, Job, JobKind};
use heirloom_engine::ledger::{Audit, Ledger};
use heirloom_engine::worker::drain;

use crate::world::{NOON, World, open_ledger, said};

const MINUTE: i64 = 60_000;

fn at(world: &World, time: i64) -> Ledger {
    open_ledger(world.folder.path(), Clock::Fixed(time))
}

fn claim(ledger: &Ledger, owner: &str) -> Option<Job> {
    ledger.write(Audit::new(owner, "job.claim"), |tx| job_queue::claim(tx, owner)).unwrap()
}

fn enqueue(ledger: &Ledger, kind: JobKind) -> bool {
    ledger.write(Audit::new("test", "job.enqueue"), |tx| job_queue::enqueue(tx, kind, "all", "{}", tx.now())).unwrap()
}

#[test]
fn an_equal_job_is_queued_once() {
    let world = World::at(Clock::Fixed(NOON));
    assert!(enqueue(&world.ledger, JobKind::Index));
    assert!(!enqueue(&world.ledger, JobKind::Index));
    assert!(enqueue(&world.ledger, JobKind::CloseIdle));
    let job = claim(&world.ledger, "a").unwrap();
    assert!(!enqueue(&world.ledger, job.kind), "it is running");
    world.ledger.write(Audit::new("a", "job.done"), |tx| job_queue::complete(tx, &job, "a")).unwrap();
    assert!(enqueue(&world.ledger, job.kind));
}

#[test]
fn a_job_whose_worker_is_gone_is_taken_over() {
    let world = World::at(Clock::Fixed(NOON));
    enqueue(&world.ledger, JobKind::Index);
    let first = claim(&world.ledger, "a").unwrap();
    assert!(claim(&world.ledger, "b").is_none(), "a has it");
    let later = at(&world, NOON + 2 * MINUTE);
    let second = claim(&later, "b").unwrap();
    assert_eq!((second.no, second.attempts), (first.no, 2));
    // The first worker comes back, but its lease is gone.
    later.write(Audit::new("a", "job.done"), |tx| job_queue::complete(tx, &first, "a")).unwrap();
    assert_eq!(later.read(|tx| job_queue::counts(tx, NOON)).unwrap().running, 1);
}

/// A worker whose lease went to another one does not end the other's try when its own fails at last.
#[test]
fn who_lost_a_job_cannot_fail_it() {
    let world = World::at(Clock::Fixed(NOON));
    enqueue(&world.ledger, JobKind::Index);
    let first = claim(&world.ledger, "a").unwrap();
    let later = at(&world, NOON + 2 * MINUTE);
    claim(&later, "b").unwrap();
    later.write(Audit::new("a", "job.fail"), |tx| job_queue::fail(tx, &first, "a", "too late")).unwrap();
    let holds = |owner: &str| later.read(|tx| job_queue::holds(tx, owner)).unwrap();
    assert_eq!((holds("a"), holds("b")), (false, true));
}

/// A lease that was taken before the clock was set back would otherwise last for as long as the clock was ahead.
#[test]
fn a_lease_from_before_the_clock_was_set_back_has_expired() {
    let world = World::at(Clock::Fixed(NOON));
    enqueue(&world.ledger, JobKind::Index);
    let first = claim(&world.ledger, "a").unwrap();
    let same = at(&world, NOON - MINUTE / 2);
    assert!(claim(&same, "b").is_some_and(|job| job.no == first.no), "no lease is that long");
    let earlier = at(&world, NOON - 60 * MINUTE);
    let second = claim(&earlier, "c").unwrap();
    assert_eq!((second.no, second.attempts), (first.no, 3));
    assert!(claim(&earlier, "d").is_none(), "c has it");
}

#[test]
fn a_job_that_always_fails_is_set_aside_after_five_tries() {
    let world = World::at(Clock::Fixed(NOON));
    enqueue(&world.ledger, JobKind::Index);
    for attempt in 1..=5 {
        let ledger = at(&world, NOON + attempt * MINUTE);
        let job = claim(&ledger, "a").unwrap();
        assert_eq!(job.attempts, attempt);
        ledger.write(Audit::new("a", "job.fail"), |tx| job_queue::fail(tx, &job, "a", "no")).unwrap();
        assert!(claim(&ledger, "a").is_none(), "there is a pause");
    }
    let ledger = at(&world, NOON + 60 * MINUTE);
    assert!(claim(&ledger, "a").is_none());
    assert_eq!(ledger.read(|tx| job_queue::counts(tx, NOON)).unwrap().dead, 1);
    assert!(enqueue(&ledger, JobKind::Index), "a new one may be tried");
}

#[test]
fn a_job_that_takes_its_workers_with_it_is_set_aside_too() {
    let world = World::at(Clock::Fixed(NOON));
    enqueue(&world.ledger, JobKind::Index);
    for attempt in 1..=5 {
        assert!(claim(&at(&world, NOON + attempt * 2 * MINUTE), "a").is_some());
    }
    let ledger = at(&world, NOON + 60 * MINUTE);
    assert!(claim(&ledger, "a").is_none());
    assert_eq!(ledger.read(|tx| job_queue::counts(tx, NOON)).unwrap().dead, 1);
}

#[test]
fn the_last_try_of_a_job_is_left_to_its_worker() {
    let world = World::at(Clock::Fixed(NOON));
    enqueue(&world.ledger, JobKind::Index);
    for attempt in 1..=4 {
        let ledger = at(&world, NOON + attempt * MINUTE);
        let job = claim(&ledger, "a").unwrap();
        ledger.write(Audit::new("a", "job.fail"), |tx| job_queue::fail(tx, &job, "a", "no")).unwrap();
    }
    let ledger = at(&world, NOON + 5 * MINUTE);
    let last = claim(&ledger, "a").unwrap();
    assert_eq!(last.attempts, 5);
    assert!(claim(&ledger, "b").is_none(), "a is at it");
    let counts = ledger.read(|tx| job_queue::counts(tx, ledger.now())).unwrap();
    assert_eq!((counts.running, counts.dead), (1, 0));
    ledger.write(Audit::new("a", "job.done"), |tx| job_queue::complete(tx, &last, "a")).unwrap();
    assert_eq!(ledger.read(|tx| job_queue::counts(tx, ledger.now())).unwrap(), job_queue::Counts::default());
}

#[test]
fn a_worker_that_ends_gives_back_its_jobs_and_no_others() {
    let world = World::at(Clock::Fixed(NOON));
    enqueue(&world.ledger, JobKind::Index);
    enqueue(&world.ledger, JobKind::CloseIdle);
    let (mine, theirs) = (claim(&world.ledger, "a").unwrap(), claim(&world.ledger, "b").unwrap());
    let holds = |owner: &str| world.ledger.read(|tx| job_queue::holds(tx, owner)).unwrap();
    let release =
        |owner: &str| world.ledger.write(Audit::new(owner, "job.release"), |tx| job_queue::release(tx, owner)).unwrap();
    assert_eq!((holds("a"), holds("b"), holds("c")), (true, true, false));
    assert_eq!(release("c"), 0);
    assert_eq!(release("a"), 1);
    assert_eq!((holds("a"), holds("b"), release("a")), (false, true, 0));
    let again = claim(&world.ledger, "c").unwrap();
    assert_eq!((again.no, again.attempts), (mine.no, 1), "giving it back was no try");
    assert_ne!(again.no, theirs.no);
    assert!(claim(&world.ledger, "c").is_none());
}

#[test]
fn draining_indexes_and_closes_what_went_quiet() {
    let world = World::at(Clock::Fixed(NOON));
    world.line(&format!("{{\"session\":\"x\",\"id\":\"a\",\"role\":\"user\",\"text\":\"zebra\",\"at\":{NOON}}}"));
    let (mut index, _) = world.index();
    let done = drain(&world.ledger, &mut index, "worker", &mut |_| Ok(())).unwrap();
    assert_eq!((done.done, done.failed, done.later), (1, 0, 1));
    assert_eq!(world.search(&mut index, "zebra"), ["zebra"]);
    let rows = world.audit_rows();
    drain(&world.ledger, &mut index, "worker", &mut |_| Ok(())).unwrap();
    assert_eq!(world.audit_rows(), rows, "an empty queue costs no write");
    let later = at(&world, NOON + 11 * MINUTE);
    let done = drain(&later, &mut index, "worker", &mut |_| Ok(())).unwrap();
    assert_eq!((done.done, done.later), (1, 0));
    assert!(world.dump().contains("run 0 superseded a..- closed by idle"), "{}", world.dump());
    assert_eq!(world.findings_with(Some(&index)), Vec::<String>::new());
}

#[test]
fn an_imported_conversation_that_goes_quiet_is_closed_too() {
    let world = World::at(Clock::Fixed(NOON));
    world.write("s.jsonl", format!("{{\"id\":\"a\",\"role\":\"user\",\"text\":\"x\",\"at\":{NOON}}}\n"));
    world.import(&["s.jsonl"]);
    let (mut index, _) = world.index();
    drain(&at(&world, NOON + 11 * MINUTE), &mut index, "worker", &mut |_| Ok(())).unwrap();
    assert!(world.dump().contains("closed by idle"), "{}", world.dump());
}

#[test]
fn what_comes_in_while_the_index_is_busy_is_indexed_afterwards() {
    let world = World::at(Clock::Fixed(NOON));
    world.write("s.jsonl", said("a", "user", "zebra"));
    world.import(&["s.jsonl"]);
    enqueue(&world.ledger, JobKind::Index);
    let (mut index, _) = Index::open(&world.path("index.db"), world.ledger.id(), Duration::from_millis(20)).unwrap();
    // Another process is writing the index.
    let other = rusqlite::Connection::open(world.path("index.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    drain(&world.ledger, &mut index, "worker", &mut |_| Ok(())).unwrap();
    assert_eq!(world.search(&mut index, "zebra"), Vec::<String>::new());
    other.execute_batch("ROLLBACK").unwrap();
    drain(&at(&world, NOON + MINUTE), &mut index, "worker", &mut |_| Ok(())).unwrap();
    assert_eq!(world.search(&mut index, "zebra"), ["zebra"]);
}

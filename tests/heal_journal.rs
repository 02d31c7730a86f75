//! `heal` that is killed, interrupted, doubled or overtaken by an edit: everything is back, and nothing else is touched.

use serde_json::Value;

use crate::heal_kit::{FILE, PAGE, SPEC, heal, project, runs, start, until};
use crate::sandbox::Sandbox;

#[test]
fn killed_at_any_run_the_next_start_puts_the_spec_back_byte_for_byte() {
    for hold in 1..=6 {
        let sandbox = project(SPEC, "'Start'", PAGE);
        sandbox.write("hold", &hold.to_string());
        let mut child = start(&sandbox, &[]);
        until("the run that is held", || sandbox.file("held").exists());
        // In the middle of the third to sixth run the repair (or its falsified form) is on the disk.
        assert_eq!(sandbox.read(FILE) == SPEC, hold <= 2, "{hold}");
        child.kill().unwrap();
        child.wait().unwrap();
        let answer = sandbox.run(&["heal", "--recover", "--json"]).exits(0).json();
        assert_eq!(sandbox.read(FILE), SPEC, "{hold}");
        assert_eq!(answer["recovered"]["restored"].as_array().unwrap().len(), usize::from(hold > 2), "{answer:#}");
        assert_eq!(std::fs::read_dir(sandbox.file(".agent-test/heal")).unwrap().count(), 0);
    }
}

/// The journal of the heal that is under way.
fn journal(sandbox: &Sandbox) -> Option<Value> {
    let folder = std::fs::read_dir(sandbox.file(".agent-test/heal")).ok()?.next()?.ok()?.path();
    serde_json::from_str(&std::fs::read_to_string(folder.join("journal.json")).ok()?).ok()
}

/// Whether it has come.
type Moment = Box<dyn Fn(&Sandbox) -> bool>;

#[test]
fn killed_at_any_moment_the_next_start_puts_everything_back() {
    let announced = |sandbox: &Sandbox, count: usize| {
        journal(sandbox).is_some_and(|notes| {
            notes["files"].as_array().is_some_and(|files| {
                files.iter().any(|file| file["ours"].as_array().is_some_and(|ours| ours.len() >= count))
            })
        })
    };
    let text = |sandbox: &Sandbox| sandbox.read(FILE);
    // Moments between the runs: while the journal, the copy and the spec are written.
    let mut moments: Vec<(String, Moment)> = vec![
        ("a journal".into(), Box::new(|sandbox| journal(sandbox).is_some())),
        ("a copy".into(), Box::new(move |sandbox| announced(sandbox, 0))),
        ("the repair is announced".into(), Box::new(move |sandbox| announced(sandbox, 1))),
        ("the repair is written".into(), Box::new(move |sandbox| text(sandbox) != SPEC)),
        ("the false form is announced".into(), Box::new(move |sandbox| announced(sandbox, 2))),
        ("the false form is written".into(), Box::new(move |sandbox| text(sandbox).contains("falsified by"))),
        (
            "the repair is back".into(),
            Box::new(move |sandbox| runs(sandbox) >= 6 && !text(sandbox).contains("falsified by")),
        ),
        ("the journal is gone".into(), Box::new(|sandbox| runs(sandbox) >= 6 && journal(sandbox).is_none())),
    ];
    for count in 1..=6 {
        moments.push((format!("run {count}"), Box::new(move |sandbox| runs(sandbox) >= count)));
    }
    let repaired = SPEC.replace("'Begin'", "'Start'");
    for (what, has_come) in moments {
        let sandbox = project(SPEC, "'Start'", PAGE);
        let mut child = start(&sandbox, &[]);
        until(&what, || has_come(&sandbox) || child.try_wait().unwrap().is_some());
        let _ = child.kill();
        child.wait().unwrap();
        // Without a journal nothing was begun, or the repair stands.
        let stands = journal(&sandbox).is_none() && runs(&sandbox) >= 6;
        sandbox.run(&["heal", "--recover"]).exits(0);
        assert_eq!(sandbox.read(FILE), if stands { repaired.as_str() } else { SPEC }, "{what}");
        let left = std::fs::read_dir(sandbox.file(".agent-test/heal")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{what}");
    }
}

#[test]
fn a_signal_puts_everything_back_at_once() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    sandbox.write("hold", "4");
    let mut child = start(&sandbox, &[]);
    until("the run that is held", || sandbox.file("held").exists());
    assert_ne!(sandbox.read(FILE), SPEC);
    std::process::Command::new("kill").arg("-TERM").arg(child.id().to_string()).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert_eq!(sandbox.read(FILE), SPEC);
}

#[test]
fn a_second_heal_of_the_same_file_is_refused() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    sandbox.write("hold", "1");
    let mut child = start(&sandbox, &[]);
    until("the run that is held", || sandbox.file("held").exists());
    let busy = heal(&sandbox, &[]).exits(2).json();
    assert_eq!(busy["error"]["code"], "heal_failed");
    assert!(busy["error"]["message"].as_str().unwrap().contains("another heal"), "{busy:#}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn of_two_heals_of_a_file_that_start_at_once_one_is_refused() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    sandbox.write("hold", "1");
    let mut both = [start(&sandbox, &[]), start(&sandbox, &[])];
    let mut refused = None;
    until("the end of one", || {
        refused = both.iter_mut().position(|child| child.try_wait().unwrap().is_some());
        refused.is_some()
    });
    let refused = refused.unwrap();
    assert_eq!(both[refused].wait().unwrap().code(), Some(2));
    assert!(both[1 - refused].try_wait().unwrap().is_none(), "the other goes on");
    both[1 - refused].kill().unwrap();
    both[1 - refused].wait().unwrap();
}

#[test]
fn an_edit_of_the_spec_during_the_run_is_not_written_over() {
    let sandbox = project(SPEC, "'Start'", PAGE);
    sandbox.write("edit", "2");
    heal(&sandbox, &[]).exits(2);
    assert_eq!(sandbox.read(FILE), format!("{SPEC}// edited\n"));
}

//! What the kernel says about a process.

/// The part of `/proc/PID/stat` that tells one process from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Neither a zombie nor dead.
    pub runs: bool,
    /// The process group.
    pub group: u32,
    /// Start, in the kernel's ticks since boot: a number that was taken again is another process.
    pub started: u64,
}

/// What the kernel says about a process; nothing when it is gone, or where there is no `/proc`.
#[must_use]
pub fn process_stat(process: u32) -> Option<ProcessStat> {
    parse_stat(&String::from_utf8_lossy(&std::fs::read(format!("/proc/{process}/stat")).ok()?))
}

/// The name in parentheses may itself hold spaces and parentheses.
fn parse_stat(line: &str) -> Option<ProcessStat> {
    let mut fields = line.rsplit_once(')')?.1.split_whitespace();
    let runs = !matches!(fields.next()?, "Z" | "X" | "x");
    let group = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    Some(ProcessStat { runs, group, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let line = "42 (a) b) S 1 40 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 10";
        assert_eq!(parse_stat(line), Some(ProcessStat { runs: true, group: 40, started: 98765 }));
    }

    #[test]
    fn a_zombie_does_not_run() {
        let line = "42 (x) Z 1 40 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 0 0";
        assert!(!parse_stat(line).unwrap().runs);
    }

    #[test]
    fn a_broken_line_is_no_process() {
        assert_eq!(parse_stat("42 (x) S"), None);
        assert_eq!(parse_stat(""), None);
    }
}

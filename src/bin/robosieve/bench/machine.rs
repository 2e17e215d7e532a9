//! The machine on which figures were measured: they are worth nothing without it.

use std::fs;
use std::thread;

use jiff::Timestamp;

pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub system: String,
    /// What there is and robosieve or others may use.
    pub instruction_sets: Vec<&'static str>,
    pub date: String,
    /// How robosieve was built.
    pub build: &'static str,
}

impl Machine {
    pub fn here() -> Machine {
        Machine {
            cpu: cpu().unwrap_or_else(|| "unknown processor".to_owned()),
            cores: thread::available_parallelism().map_or(1, |count| count.get()),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            instruction_sets: instruction_sets(),
            date: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
        }
    }
}

/// The model, where the system tells: Linux on x86 does.
fn cpu() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name") || line.starts_with("Model"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(target_arch = "x86_64")]
fn instruction_sets() -> Vec<&'static str> {
    let found = [
        ("sse4.2", is_x86_feature_detected!("sse4.2")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("bmi2", is_x86_feature_detected!("bmi2")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512bw", is_x86_feature_detected!("avx512bw")),
        ("avx512vbmi", is_x86_feature_detected!("avx512vbmi")),
        ("avx512vbmi2", is_x86_feature_detected!("avx512vbmi2")),
    ];
    found.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn instruction_sets() -> Vec<&'static str> {
    Vec::new()
}

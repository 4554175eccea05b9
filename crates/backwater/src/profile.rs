//! What a run that is profiled says of its time, in `run.json`.
use backwater_fabric::{Prediction, Profile, Spent};
use serde_json::{Value, json};
use std::time::Duration;

/// All but the time of the tables, which is known when they are written.
pub(crate) fn to_json(profile: &Profile) -> Value {
    let own = profile.shards.len();
    let work: f64 = profile.shards.iter().map(|shard| shard.work.as_secs_f64()).sum();
    let shard = |spent: &Spent| {
        json!({
            "nodes": spent.nodes,
            "work_s": spent.work.as_secs_f64(),
            "mail_s": spent.mail.as_secs_f64(),
            "wait_s": spent.wait.as_secs_f64(),
            "messages_taken": spent.messages,
        })
    };
    let prediction = |on: &Prediction| {
        let wall = on.wall().as_secs_f64();
        json!({
            "threads": on.threads,
            "wall_s": wall,
            "speedup": if wall > 0.0 { work / wall } else { 0.0 },
            "work_s": on.work.as_secs_f64(),
            "mail_s": on.mail.as_secs_f64(),
            "meet_s": on.meet.as_secs_f64(),
            "imbalance": on.imbalance,
            "messages_between": on.away,
        })
    };
    json!({
        "windows": profile.windows,
        "threads": own,
        "wall_s": profile.wall.as_secs_f64(),
        "work_s": work,
        "imbalance": profile.imbalance,
        "messages": profile.messages,
        "meeting_s": profile.meeting.as_secs_f64(),
        "shards": profile.shards.iter().map(shard).collect::<Vec<_>>(),
        "predictions": profile.predictions.iter().map(prediction).collect::<Vec<_>>(),
    })
}

/// Adds the time of the tables.
pub(crate) fn add_tables(profile: &mut Value, tables: Duration) {
    profile["tables_s"] = tables.as_secs_f64().into();
}

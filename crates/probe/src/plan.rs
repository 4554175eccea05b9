//! The byte budget: what a run may write, stated before it starts and shared among its tables.
use crate::column::Kind;
use crate::columns::{Table, TableId, with_record};
use backwater_units::Bytes;
use std::fmt;
use thiserror::Error;

/// A table that a run wants to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Which table.
    pub table: TableId,
    /// How many rows it will have (or at most); `None` if only the run can tell.
    pub rows: Option<u64>,
}

/// One table's part of a [`Plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TablePlan {
    /// Which table.
    pub table: TableId,
    /// Bytes of one row before compression. Real files take a fraction of it (typically a third to a tenth).
    pub bytes_per_row: u64,
    /// Expected rows, if known.
    pub rows: Option<u64>,
    /// Expected size before compression, file overhead included; `None` if the rows are not known.
    pub bytes: Option<Bytes>,
    /// The most this table may occupy.
    pub share: Bytes,
}

/// The tables of a run and how much each may write.
///
/// The budget is shared max-min fairly: a table that is known to need less than an equal part gives the rest
/// back to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    budget: Bytes,
    tables: Vec<TablePlan>,
}

/// A budget that cannot be kept.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// Smaller than the empty tables.
    #[error(
        "probe.budget = {budget} is less than the {least} that {tables} tables need even when they are empty"
    )]
    BudgetTooSmall {
        /// The budget.
        budget: Bytes,
        /// The least possible.
        least: Bytes,
        /// How many tables are selected.
        tables: usize,
    },
    /// A table is selected twice.
    #[error("table {0} is selected twice; name it once")]
    Twice(&'static str),
}

/// Bytes of a Parquet file apart from its rows: schema, footer, page headers of one row group.
pub(crate) const FILE_OVERHEAD: u64 = 32 * 1024;

impl Plan {
    /// Shares `budget` among the tables of `demands`.
    ///
    /// # Errors
    /// If a table is named twice, or the budget is below 32 KiB per table.
    pub fn new(demands: &[Demand], budget: Bytes) -> Result<Self, PlanError> {
        let least = FILE_OVERHEAD * demands.len() as u64;
        if budget.get() < least {
            return Err(PlanError::BudgetTooSmall {
                budget,
                least: Bytes::new(least),
                tables: demands.len(),
            });
        }
        let mut tables: Vec<TablePlan> = demands.iter().copied().map(unshared).collect();
        tables.sort_by_key(|t| t.table);
        if let Some(pair) = tables.windows(2).find(|pair| pair[0].table == pair[1].table) {
            return Err(PlanError::Twice(pair[0].table.name()));
        }
        share_out(&mut tables, budget.get());
        Ok(Self { budget, tables })
    }

    /// Each selected table's part, in table order.
    pub fn tables(&self) -> &[TablePlan] {
        &self.tables
    }

    /// Whether a table is among them.
    pub fn has(&self, table: TableId) -> bool {
        self.tables.iter().any(|plan| plan.table == table)
    }

    /// The budget.
    pub const fn budget(&self) -> Bytes {
        self.budget
    }

    /// Expected size, before compression, of the tables whose rows are known; never more than the budget.
    pub fn estimate(&self) -> Bytes {
        let known = self.tables.iter().filter_map(|t| Some(t.bytes?.min(t.share)));
        known.sum()
    }
}

/// One line such as `at most 2GB (before compression: flows 32.7KB, samples 48MB; marks, pauses: not known beforehand)`.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.tables.iter().filter_map(|t| Some(format!("{} {}", t.table.name(), t.bytes?)));
        let open = self.tables.iter().filter(|t| t.bytes.is_none()).map(|t| t.table.name());
        let (known, open): (Vec<_>, Vec<_>) = (known.collect(), open.collect());
        write!(f, "at most {}", self.budget)?;
        match (known.is_empty(), open.is_empty()) {
            (true, true) => Ok(()),
            (false, true) => write!(f, " (before compression: {})", known.join(", ")),
            (true, false) => write!(f, " ({}: not known beforehand)", open.join(", ")),
            (false, false) => {
                write!(
                    f,
                    " (before compression: {}; {}: not known beforehand)",
                    known.join(", "),
                    open.join(", ")
                )
            }
        }
    }
}

fn unshared(Demand { table, rows }: Demand) -> TablePlan {
    let bytes_per_row = with_record!(table, R => bytes_per_row::<R>());
    let bytes = rows.map(|rows| Bytes::new(rows.saturating_mul(bytes_per_row).saturating_add(FILE_OVERHEAD)));
    TablePlan { table, bytes_per_row, rows, bytes, share: Bytes::new(0) }
}

/// Smallest demand first: each takes what it needs or an equal part of what is left, whichever is less.
fn share_out(tables: &mut [TablePlan], budget: u64) {
    let mut order: Vec<&mut TablePlan> = tables.iter_mut().collect();
    order.sort_by_key(|t| t.bytes.unwrap_or(Bytes::MAX));
    let (mut left, mut takers) = (budget, order.len() as u64);
    for table in order {
        let fair = left / takers;
        // A table whose rows are known exactly must not run short by the rounding of the estimate.
        let share = table.bytes.map_or(fair, |bytes| bytes.get().min(fair));
        table.share = Bytes::new(share);
        left -= share;
        takers -= 1;
    }
}

/// Width of a row before compression; names count as two bytes, for they are written once and then numbered.
pub(crate) fn bytes_per_row<R: Table>() -> u64 {
    let width = |kind| match kind {
        Kind::Bool | Kind::U8 | Kind::Word => 1,
        Kind::U16 | Kind::Name => 2,
        Kind::U32 => 4,
        Kind::U64 | Kind::F64 => 8,
    };
    R::COLUMNS.iter().map(|column| width(column.take.kind())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn demand(table: TableId, rows: Option<u64>) -> Demand {
        Demand { table, rows }
    }

    fn share(plan: &Plan, table: TableId) -> u64 {
        plan.tables().iter().find(|t| t.table == table).unwrap().share.get()
    }

    #[test]
    fn a_rate_sample_is_8_bytes_of_time_4_of_flow_2_of_name_8_of_rate() {
        assert_eq!(bytes_per_row::<backwater_fabric::record::RateRecord>(), 8 + 4 + 2 + 8);
    }

    #[test]
    fn the_estimate_is_rows_times_bytes_per_row_and_the_file_itself() {
        let plan = Plan::new(&[demand(TableId::Rates, Some(1000))], Bytes::from_mb(1)).unwrap();
        assert_eq!(plan.estimate(), Bytes::new(22 * 1000 + 32 * 1024));
    }

    #[test]
    fn what_a_small_table_does_not_need_goes_to_those_of_unknown_size() {
        let demands =
            [demand(TableId::Marks, None), demand(TableId::Rates, Some(1000)), demand(TableId::Pauses, None)];
        let plan = Plan::new(&demands, Bytes::from_mb(10)).unwrap();
        let rates = 22 * 1000 + 32 * 1024;
        assert_eq!(share(&plan, TableId::Rates), rates);
        assert_eq!(share(&plan, TableId::Marks), (10_000_000 - rates) / 2);
        assert_eq!(share(&plan, TableId::Pauses), (10_000_000 - rates) / 2);
    }

    #[test]
    fn a_budget_below_the_empty_files_is_refused_with_the_least_that_works() {
        let demands = [demand(TableId::Marks, None), demand(TableId::Rates, None)];
        let error = Plan::new(&demands, Bytes::from_kb(1)).unwrap_err().to_string();
        assert!(
            error.contains("1KB") && error.contains("65.536KB") && error.contains("probe.budget"),
            "{error}"
        );
    }

    #[test]
    fn a_table_selected_twice_is_refused_by_name() {
        let demands = [demand(TableId::Marks, None), demand(TableId::Marks, Some(3))];
        assert_eq!(Plan::new(&demands, Bytes::from_mb(1)), Err(PlanError::Twice("marks")));
    }

    #[test]
    fn the_plan_says_what_is_known_and_what_is_not() {
        let demands = [demand(TableId::Rates, Some(1000)), demand(TableId::Marks, None)];
        let plan = Plan::new(&demands, Bytes::from_mb(2)).unwrap();
        let said = "at most 2MB (before compression: rates 54.768KB; marks: not known beforehand)";
        assert_eq!(plan.to_string(), said);
    }

    proptest! {
        #[test]
        fn shares_never_exceed_the_budget_and_no_table_goes_without(
            rows in prop::collection::vec(prop::option::of(any::<u64>()), TableId::ALL.len()),
            budget in TableId::ALL.len() as u64 * FILE_OVERHEAD..u64::MAX,
        ) {
            let demands: Vec<_> = TableId::ALL.into_iter().zip(rows).map(|(t, r)| demand(t, r)).collect();
            let plan = Plan::new(&demands, Bytes::new(budget)).unwrap();
            let total: u128 = plan.tables().iter().map(|t| u128::from(t.share.get())).sum();
            prop_assert!(total <= u128::from(budget));
            prop_assert!(plan.tables().iter().all(|t| t.share.get() >= FILE_OVERHEAD));
        }
    }
}

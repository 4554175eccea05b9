use backwater::Error;
use backwater_codes::Code;
use backwater_fabric::{Account, Book, Violation};
use backwater_units::Time;

#[test]
fn packets_that_are_missing_are_an_error_with_its_code_and_the_numbers() {
    let link = Account::Link { from: "h1".into(), to: "s".into() };
    let book = Book { sent: 12, delivered: 9, under_way: 2, ..Book::default() };
    let error = Error::from(Violation::PacketsMissing { time: Time::ZERO, wrong: vec![(link, book)] });
    assert_eq!(error.code().map(Code::id), Some("packets-missing"));
    let said = error.to_string();
    assert!(said.contains("link h1 -> s: sent 12, delivered 9"), "{said}");
    assert!(said.contains("under way 2: 1 missing"), "{said}");
}

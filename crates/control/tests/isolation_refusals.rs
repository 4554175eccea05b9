//! Parameters of isolation that cannot work are refused, each with its place, its value, what is allowed, and a fix.
use backwater_control::ConfigError;
use backwater_control::detector::Red;
use backwater_control::isolation::{
    CiConfig, Common, IciConfig, IciMarking, Isolation, NotifyConfig, Surroundings,
};
use backwater_units::{Bytes, Span};

const KIB: u64 = 1024;

const fn kib(n: u64) -> Bytes {
    Bytes::new(n * KIB)
}

fn ci(change: impl FnOnce(&mut Common)) -> Isolation {
    let mut config = CiConfig::standard();
    change(&mut config.common);
    Isolation::Ci(config)
}

fn plus(change: impl FnOnce(&mut IciConfig, &mut IciMarking)) -> Isolation {
    let (mut config, mut marking) = (IciConfig::standard(), IciMarking::standard());
    change(&mut config, &mut marking);
    Isolation::Ici(IciConfig { marking: Some(marking), ..config })
}

fn check(rules: &Isolation, switch: &Surroundings) -> Result<(), ConfigError> {
    rules.validate()?;
    rules.fits(switch)
}

/// What is said of rules in the paper's switch.
fn refused(rules: &Isolation) -> String {
    check(rules, &Surroundings::standard()).unwrap_err().to_string()
}

#[test]
fn the_defaults_fit_the_switch_of_the_paper() {
    let all = [ci(|_| {}), Isolation::Ici(IciConfig::standard()), Isolation::Ici(IciConfig::plus())];
    assert!(all.iter().all(|rules| check(rules, &Surroundings::standard()) == Ok(())));
}

#[test]
fn a_cfq_that_would_pause_before_anybody_is_notified_is_refused() {
    let said = refused(&ci(|common| common.notify.level = kib(68)));
    assert!(said.starts_with("cim.level = 69.632KB: must be below cfq.stop; lower it"), "{said}");
    assert!(said.contains("pause the link before anybody upstream is notified"), "{said}");
    assert_eq!(check(&ci(|common| common.notify.level = kib(64)), &Surroundings::standard()), Ok(()));
    let on_allocation = ci(|common| {
        common.notify = NotifyConfig { level: kib(68), on_allocation: true, ..NotifyConfig::standard() };
    });
    assert_eq!(check(&on_allocation, &Surroundings::standard()), Ok(()), "then the level is not looked at");
}

#[test]
fn thresholds_that_a_queue_never_reaches_are_refused() {
    let above = kib(145);
    assert!(
        refused(&ci(|common| common.detect = above))
            .starts_with("detect = 148.48KB: must be at most nfq.cap")
    );
    assert!(
        refused(&plus(|ici, _| ici.quorum = above)).starts_with("ici.quorum = 148.48KB: must be at most")
    );
    let ramp = |kmin| Red::new(kib(kmin), kib(256), 1.0, Bytes::new(0)).unwrap();
    let congested = refused(&plus(|_, marking| marking.congested = ramp(112)));
    assert!(
        congested.starts_with("ici-plus.congested.kmin = 114.688KB: must be below cfq.cap"),
        "{congested}"
    );
    let monitored = refused(&plus(|_, marking| marking.monitored = ramp(144)));
    assert!(
        monitored.starts_with("ici-plus.monitored.kmin = 147.456KB: must be below nfq.cap"),
        "{monitored}"
    );
}

#[test]
fn an_early_hint_that_comes_after_the_pause_is_refused() {
    assert!(
        refused(&ci(|common| common.early = Some(kib(88))))
            .starts_with("early = 90.112KB: must be below nfq.stop")
    );
    assert!(
        refused(&ci(|common| common.early = Some(kib(0))))
            .starts_with("early = 0B: must be above 0B, or left out")
    );
    assert_eq!(check(&ci(|common| common.early = Some(kib(44))), &Surroundings::standard()), Ok(()));
}

#[test]
fn a_ramp_that_ends_before_it_begins_is_refused() {
    let error = Red::new(kib(96), kib(32), 1.0, Bytes::new(0)).unwrap_err().to_string();
    assert!(error.starts_with("kmin = 98.304KB: must be at most kmax"), "{error}");
    let error = Red::new(kib(32), kib(96), 1.5, Bytes::new(0)).unwrap_err().to_string();
    assert!(error.starts_with("pmax = 1.5: must be a probability"), "{error}");
}

#[test]
fn thresholds_and_times_of_nothing_are_refused() {
    assert!(refused(&ci(|common| common.detect = kib(0))).starts_with("detect = 0B: must be above 0B"));
    assert!(
        refused(&ci(|common| common.residency = Span::ZERO)).starts_with("residency = 0ps: must be longer")
    );
    assert!(
        refused(&ci(|common| common.notify.gap = Span::ZERO)).starts_with("cim.gap = 0ps: must be longer")
    );
    assert!(
        refused(&ci(|common| common.notify.most = Some(0))).starts_with("cim.most = 0: must be at least 1")
    );
    assert!(
        refused(&plus(|ici, _| ici.share_ppm = 0)).starts_with("ici.share = 0: must be above 0, at most 1")
    );
    assert!(
        refused(&plus(|ici, _| ici.share_ppm = 1_500_000)).starts_with("ici.share = 1.5: must be above 0")
    );
    assert!(
        refused(&plus(|ici, _| ici.history = Some(Span::ZERO))).starts_with("ici.history = 0ps: must be")
    );
    assert!(
        refused(&plus(|_, m| m.overflow = Span::ZERO)).starts_with("ici-plus.overflow = 0ps: must be longer")
    );
    assert!(
        refused(&plus(|_, m| m.persist = Span::ZERO)).starts_with("ici-plus.persist = 0ps: must be longer")
    );
}

#[test]
fn ci_in_a_switch_of_more_than_128_ports_is_refused_and_ici_is_not() {
    let large = Surroundings { ports: 129, ..Surroundings::standard() };
    let said = check(&ci(|_| {}), &large).unwrap_err().to_string();
    assert!(
        said.starts_with("kind = 129: must be ici or ici-plus in a switch of more than 128 ports"),
        "{said}"
    );
    assert_eq!(check(&Isolation::Ici(IciConfig::plus()), &large), Ok(()));
    assert_eq!(check(&ci(|_| {}), &Surroundings { ports: 128, ..large }), Ok(()));
}

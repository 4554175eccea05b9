//! Values as plain bytes, as processes give them to each other: numbers in little-endian order, lists with their length before them.
use backwater_units::{Bytes, Rate, Span, Time};

/// A value that can be written as bytes and read again. The bytes are those of one build of the program.
pub trait Plain: Sized {
    /// Appends its bytes.
    fn put(&self, to: &mut Vec<u8>);
    /// Reads it from the beginning of the bytes, and leaves what follows; `None` if they are none.
    fn take(from: &mut &[u8]) -> Option<Self>;
}

macro_rules! plain_numbers {
    ($($number:ty)*) => {$(
        impl Plain for $number {
            #[inline]
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn take(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        }
    )*};
}
plain_numbers! { u8 u16 u32 u64 i8 i32 i64 }

/// Types that are a number in other clothes.
macro_rules! plain_by {
    ($($type:ty: $number:ty, $out:expr, $in:expr;)*) => {$(
        impl Plain for $type {
            #[inline]
            fn put(&self, to: &mut Vec<u8>) {
                let out: fn(Self) -> $number = $out;
                out(*self).put(to);
            }
            #[inline]
            fn take(from: &mut &[u8]) -> Option<Self> {
                <$number>::take(from).map($in)
            }
        }
    )*};
}
plain_by! {
    bool: u8, |it| it.into(), |it| it != 0;
    usize: u64, |it| it as u64, |it| it as usize;
    Time: u64, |it| it.as_ps(), Time::from_ps;
    Span: u64, |it| it.as_ps(), Span::from_ps;
    Bytes: u64, |it| it.get(), Bytes::new;
    Rate: u64, |it| it.as_bps(), Rate::from_bps;
}

impl<T: Plain> Plain for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.len().put(to);
        for each in self {
            each.put(to);
        }
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        let length = usize::take(from)?;
        (0..length).map(|_| T::take(from)).collect()
    }
}

impl Plain for String {
    fn put(&self, to: &mut Vec<u8>) {
        self.len().put(to);
        to.extend_from_slice(self.as_bytes());
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        let length = usize::take(from)?;
        let (text, rest) = from.split_at_checked(length)?;
        *from = rest;
        Self::from_utf8(text.to_vec()).ok()
    }
}

impl<T: Plain> Plain for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        if let Some(it) = self {
            it.put(to);
        }
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        if bool::take(from)? { T::take(from).map(Some) } else { Some(None) }
    }
}

impl<T: Plain + Copy + Default, const N: usize> Plain for [T; N] {
    fn put(&self, to: &mut Vec<u8>) {
        for each in self {
            each.put(to);
        }
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        let mut all = [T::default(); N];
        for each in &mut all {
            *each = T::take(from)?;
        }
        Some(all)
    }
}

macro_rules! plain_tuples {
    ($(($($part:ident)+))*) => {$(
        #[allow(non_snake_case, reason = "a value is named as its type")]
        impl<$($part: Plain),+> Plain for ($($part,)+) {
            fn put(&self, to: &mut Vec<u8>) {
                let ($($part,)+) = self;
                $($part.put(to);)+
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(($($part::take(from)?,)+))
            }
        }
    )*};
}
plain_tuples! { (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }

/// Makes types plain: structs by all of their fields, enums by all of their variants, which may hold one value each. One that is
/// forgotten does not compile.
///
/// ```
/// use backwater_engine::{Plain, plain};
///
/// #[derive(Debug, PartialEq)]
/// struct Point { x: u32, y: u32 }
/// #[derive(Debug, PartialEq)]
/// enum Shape { Nothing, Dot(u32) }
/// plain! {
///     Point { x, y }
///     Shape = Nothing | Dot(it);
/// }
/// let (shape, mut bytes) = ((Point { x: 1, y: 2 }, Shape::Dot(3)), Vec::new());
/// shape.put(&mut bytes);
/// assert_eq!(Plain::take(&mut &bytes[..]), Some(shape));
/// ```
#[macro_export]
macro_rules! plain {
    () => {};
    ($type:ident { $($field:ident),+ $(,)? } $($rest:tt)*) => {
        impl $crate::Plain for $type {
            fn put(&self, to: &mut Vec<u8>) {
                let Self { $($field),+ } = self;
                $($crate::Plain::put($field, to);)+
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                $(let $field = $crate::Plain::take(from)?;)+
                Some(Self { $($field),+ })
            }
        }
        $crate::plain! { $($rest)* }
    };
    ($type:ident = $($variant:ident $(($inner:ident))?)|+; $($rest:tt)*) => {
        impl $crate::Plain for $type {
            fn put(&self, to: &mut Vec<u8>) {
                #[repr(u8)]
                enum Number { $($variant),+ }
                match self {
                    $(Self::$variant $(($inner))? => {
                        $crate::Plain::put(&(Number::$variant as u8), to);
                        $($crate::Plain::put($inner, to);)?
                    })+
                }
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                #[allow(non_upper_case_globals, reason = "named as the variant")]
                mod number {
                    #[repr(u8)]
                    enum Number { $($variant),+ }
                    $(pub(super) const $variant: u8 = Number::$variant as u8;)+
                }
                match <u8 as $crate::Plain>::take(from)? {
                    $(number::$variant => Some(Self::$variant $(({
                        let $inner = $crate::Plain::take(from)?;
                        $inner
                    }))?),)+
                    _ => None,
                }
            }
        }
        $crate::plain! { $($rest)* }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Row {
        time: Time,
        name: String,
        what: What,
        parts: [u16; 3],
    }
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum What {
        Nothing,
        Flow(u32),
    }
    plain! {
        Row { time, name, what, parts }
        What = Nothing | Flow(number);
    }

    #[test]
    fn what_is_put_is_taken_and_bytes_that_are_cut_short_are_none() {
        let row = |what| Row { time: Time::from_ps(7), name: "über".into(), what, parts: [1, 2, u16::MAX] };
        let rows = (vec![row(What::Nothing), row(What::Flow(9))], Some(true), -5_i64, None::<u8>);
        let mut bytes = Vec::new();
        rows.put(&mut bytes);
        let mut left = &bytes[..];
        assert_eq!(Plain::take(&mut left), Some(rows.clone()));
        assert!(left.is_empty());
        for cut in 0..bytes.len() {
            assert_eq!(<(Vec<Row>, Option<bool>, i64, Option<u8>)>::take(&mut &bytes[..cut]), None);
        }
        assert_eq!(What::take(&mut &[2][..]), None, "there is no such variant");
    }
}

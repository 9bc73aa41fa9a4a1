//! Enumerations with a name for each value, as tables, JSON and people see it.

/// Declares an enumeration whose values have names: `Kind::ALL`, `name()` and `named()`, and JSON as the name.
macro_rules! named {
    ($($(#[$of_type:meta])* $seen:vis enum $name:ident {
        $($(#[$of_value:meta])* $value:ident = $word:literal,)*
    })*) => {$(
        $(#[$of_type])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        $seen enum $name {
            $($(#[$of_value])* $value,)*
        }

        #[allow(dead_code)]
        impl $name {
            pub const ALL: [$name; [$($word),*].len()] = [$($name::$value),*];

            /// Returns the name of the value in tables, JSON and filters.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$value => $word,)*
                }
            }

            /// Returns the value with this name.
            pub fn named(name: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": $name::ALL.map($name::name) })
            }
        }
    )*};
}
pub(crate) use named;

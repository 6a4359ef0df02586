//! A module that was checked: it compiles, has the exports that a service needs, and imports
//! nothing but the service's API.

use std::rc::Rc;

use wasmi::errors::{ErrorKind, InstantiationError, LinkerError};
use wasmi::{
    CompilationMode, Config, EnforcedLimits, Engine, ExternType, Linker, Store, StoreLimitsBuilder,
    TypedFunc, WasmParams, WasmResults,
};

use crate::guest::{Failure, Functions, Guest, Running, failure};
use crate::imports::{MODULE, offer};
use crate::limits::{
    BUFFER_BYTES, MEMORY_BYTES, MODULE_BYTES, RECURSION, STACK_BYTES, START_FUEL, TABLE_ENTRIES,
};

/// Why a module is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// A name for programs.
    pub code: &'static str,
    /// A description of the error.
    pub message: String,
    /// The suggested fix.
    pub fix: String,
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.message, self.fix)
    }
}

impl std::error::Error for Flaw {}

fn flaw(code: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Flaw {
    Flaw {
        code,
        message: message.into(),
        fix: fix.into(),
    }
}

/// A module that instances can be made of. A clone is the same module.
#[derive(Clone)]
pub struct Module(Rc<Compiled>);

struct Compiled {
    engine: Engine,
    module: wasmi::Module,
    linker: Linker<Guest>,
    asks_network: bool,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Module")
    }
}

/// Imports whose answers change with the network's state.
const ABOUT_NETWORK: [&str; 3] = ["reachable", "root_of", "responsible"];
const TEMPLATE: &str = "Begin with a template: `cubeyard service new NAME`.";

impl Module {
    /// Checks a module, compiles it and starts an instance once. Errors: the flaw, with a fix.
    pub fn new(bytes: &[u8]) -> Result<Module, Flaw> {
        #[cfg(feature = "text")]
        let bytes = &*binary(bytes)?;
        if bytes.len() > MODULE_BYTES {
            return Err(flaw(
                "module-too-long",
                format!(
                    "The module has {} bytes, but may have {MODULE_BYTES}.",
                    bytes.len()
                ),
                "Build it for size and strip it: the templates' build command does.",
            ));
        }
        let engine = Engine::new(&config());
        let module = wasmi::Module::new(&engine, bytes).map_err(|error| {
            flaw(
                "does-not-compile",
                format!(
                    "This is not a WebAssembly module that compiles: {}.",
                    first_line(&error)
                ),
                "Build for wasm32-unknown-unknown, without WASI, threads and SIMD.",
            )
        })?;
        let mut linker = Linker::new(&engine);
        offer(&mut linker).map_err(|error| flaw("no-imports", error.to_string(), TEMPLATE))?;
        check_exports(&module)?;
        let asks_network = module
            .imports()
            .any(|import| ABOUT_NETWORK.contains(&import.name()));
        let module = Module(Rc::new(Compiled {
            engine,
            module,
            linker,
            asks_network,
        }));
        module.start(MEMORY_BYTES)?;
        Ok(module)
    }

    /// Whether it queries the servers that answer for keys or are reachable.
    pub(crate) fn asks_network(&self) -> bool {
        self.0.asks_network
    }

    /// Creates an instance with a limit on memory in bytes, and calls its `init`. Errors: it does
    /// not start.
    pub(crate) fn start(&self, memory_bytes: usize) -> Result<Running, Flaw> {
        let Compiled {
            engine,
            module,
            linker,
            ..
        } = &*self.0;
        let limits = StoreLimitsBuilder::new()
            .memory_size(memory_bytes)
            .memories(1)
            .tables(4)
            .table_elements(TABLE_ENTRIES)
            .instances(1)
            .build();
        let mut store = Store::new(engine, Guest::new(limits));
        store.limiter(|guest| &mut guest.limits);
        let stuck = |why: &wasmi::Error| match failure(why) {
            Failure::OutOfFuel => flaw(
                "does-not-start",
                format!("Starting the module does not end within {START_FUEL} instructions."),
                "Do less in init, and the rest in timer.",
            ),
            Failure::Trap => flaw(
                "does-not-start",
                format!("The module does not start: {}.", first_line(why)),
                format!("It may have {memory_bytes} bytes of memory, and init must not trap."),
            ),
        };
        store.set_fuel(START_FUEL).map_err(|error| stuck(&error))?;
        let instance = linker
            .instantiate_and_start(&mut store, module)
            .map_err(|error| import_flaw(&error).unwrap_or_else(|| stuck(&error)))?;
        let buffer = instance
            .get_typed_func::<(), i32>(&store, "buffer")
            .and_then(|buffer| buffer.call(&mut store, ()))
            .map_err(|error| stuck(&error))? as u32 as usize;
        let memory = instance.get_memory(&store, "memory");
        let room = memory.map_or(0, |memory| memory.data_size(&store));
        if buffer + BUFFER_BYTES > room {
            return Err(flaw(
                "buffer-outside",
                format!("buffer() says {buffer}, but memory ends at {room}."),
                format!("Return the address of {BUFFER_BYTES} bytes that nothing else uses."),
            ));
        }
        let functions = functions(&store, instance).map_err(|error| stuck(&error))?;
        let mut running = Running::new(store, instance, functions, buffer);
        if let Some(init) = running.functions.init {
            let fuel = running.store.get_fuel().unwrap_or(0);
            let (said, _) = running.call(init, (), fuel);
            said.map_err(|failed| match failed {
                Failure::OutOfFuel => stuck(&wasmi::TrapCode::OutOfFuel.into()),
                Failure::Trap => stuck(&wasmi::Error::new("init traps")),
            })?;
        }
        Ok(running)
    }
}

fn config() -> Config {
    let mut config = Config::default();
    config
        .consume_fuel(true)
        .compilation_mode(CompilationMode::Eager)
        .enforced_limits(EnforcedLimits::strict())
        .ignore_custom_sections(true)
        .set_max_recursion_depth(RECURSION)
        .set_min_stack_height(4096)
        .set_max_stack_height(STACK_BYTES)
        .set_max_cached_stacks(1);
    config
}

/// A module in the text format as a binary one; any other as it is.
#[cfg(feature = "text")]
///
/// Errors: a text that is not one of a module.
pub fn binary(bytes: &[u8]) -> Result<std::borrow::Cow<'_, [u8]>, Flaw> {
    // A text is longer than its module; one of this length is none of a service.
    if bytes.len() > 16 * MODULE_BYTES {
        return Ok(bytes.into());
    }
    wat::parse_bytes(bytes).map_err(|error| {
        flaw(
            "does-not-compile",
            format!("This is not WebAssembly: {}", error.to_string().trim()),
            "Give a module, or the text format.",
        )
    })
}

/// The first line of an error; the other lines are internals of the engine.
fn first_line(error: &wasmi::Error) -> String {
    let text = error.to_string();
    text.lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches('.')
        .to_owned()
}

/// The flaw in a module's imports, if that is why it does not start.
fn import_flaw(error: &wasmi::Error) -> Option<Flaw> {
    match error.kind() {
        ErrorKind::Linker(LinkerError::MissingDefinition { name, .. }) => Some(flaw(
            "unknown-import",
            format!("The module imports {name}, which a service cannot have."),
            format!(
                "Import from {MODULE} what the template's header declares, and build without WASI and without a \
                 standard library that needs one."
            ),
        )),
        ErrorKind::Linker(LinkerError::InvalidTypeDefinition { name, .. })
        | ErrorKind::Instantiation(
            InstantiationError::FuncTypeMismatch { name, .. }
            | InstantiationError::ImportTypeMismatch { name, .. },
        ) => Some(flaw(
            "wrong-import",
            format!("The module imports {name} with another type."),
            "Declare it as the template's header does.",
        )),
        _ => None,
    }
}

/// A function's parameters and results, as numbers of `i32` and, after a sign, `i64`.
const REQUIRED: [(&str, &str); 4] = [
    ("buffer", "() -> i32"),
    ("F", "(i32, i32)"),
    ("classify", "(i32) -> i32"),
    ("deliver", "(i32, i32)"),
];
const OPTIONAL: [(&str, &str); 6] = [
    ("packet", "(i32, i32) -> i32"),
    ("queue", "(i32) -> i64"),
    ("neighbour", "(i32, i32)"),
    ("timer", "()"),
    ("message", "(i32)"),
    ("init", "()"),
];

fn check_exports(module: &wasmi::Module) -> Result<(), Flaw> {
    if !matches!(module.get_export("memory"), Some(ExternType::Memory(memory)) if !memory.is_64()) {
        return Err(flaw(
            "no-memory",
            "The module does not export its memory.",
            TEMPLATE,
        ));
    }
    let required = REQUIRED.iter().map(|item| (item, true));
    for ((name, wanted), required) in required.chain(OPTIONAL.iter().map(|item| (item, false))) {
        match module.get_export(name) {
            Some(ExternType::Func(found)) if shown(&found) == *wanted => {}
            None if !required => {}
            None => {
                return Err(flaw(
                    "no-export",
                    format!("The module does not export {name}."),
                    format!("Export a function {name}{wanted}. {TEMPLATE}"),
                ));
            }
            Some(ExternType::Func(found)) => {
                return Err(flaw(
                    "wrong-export",
                    format!("The module exports {name}{}, not {name}{wanted}.", shown(&found)),
                    "Give it the type that the template has.",
                ));
            }
            Some(_) => {
                return Err(flaw(
                    "wrong-export",
                    format!("The module exports {name}, but it is no function."),
                    format!("Export a function {name}{wanted}."),
                ));
            }
        }
    }
    Ok(())
}

fn shown(found: &wasmi::FuncType) -> String {
    let list = |types: &[wasmi::ValType]| {
        let names = types.iter().map(|item| format!("{item:?}").to_lowercase());
        names.collect::<Vec<_>>().join(", ")
    };
    match list(found.results()) {
        results if results.is_empty() => format!("({})", list(found.params())),
        results => format!("({}) -> {results}", list(found.params())),
    }
}

fn functions(store: &Store<Guest>, instance: wasmi::Instance) -> Result<Functions, wasmi::Error> {
    fn optional<P: WasmParams, R: WasmResults>(
        store: &Store<Guest>,
        instance: wasmi::Instance,
        name: &str,
    ) -> Option<TypedFunc<P, R>> {
        instance.get_typed_func(store, name).ok()
    }
    Ok(Functions {
        next: instance.get_typed_func(store, "F")?,
        classify: instance.get_typed_func(store, "classify")?,
        deliver: instance.get_typed_func(store, "deliver")?,
        packet: optional(store, instance, "packet"),
        queue: optional(store, instance, "queue"),
        neighbour: optional(store, instance, "neighbour"),
        timer: optional(store, instance, "timer"),
        message: optional(store, instance, "message"),
        init: optional(store, instance, "init"),
    })
}

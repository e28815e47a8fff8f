/**
 * `headgate.yaml`: every entry, its range, its default and what it is for. The one place where
 * defaults are written: `lib/config` fills them in from here, and editors show them from here.
 *
 * Types are those of a complete configuration, with the defaults filled in. Durations are whole
 * milliseconds (`_ms`), sizes are bytes (`_bytes`), prices are USD per million tokens.
 */

import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox'
import { OneOf } from './nullable.ts'
import { priceFields } from './price.ts'
import { providerKinds } from './providers.ts'
import { ModelTraits } from './traits.ts'

const hour = 3_600_000
const day = 24 * hour
const mebibyte = 1024 * 1024

/** Returns a map whose entries are all known: an unknown one is an error, not a silent nothing. */
function Closed<T extends TProperties> (properties: T, options: object = {}): TObject<T> {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

/** Returns a closed map that is there, with its own defaults, when the file does not have it. */
function Section<T extends TProperties> (properties: T, description: string): TObject<T> {
  return Closed(properties, { default: {}, description })
}

function Milliseconds (milliseconds: number, description: string, maximum = day) {
  return Type.Integer({ minimum: 1, maximum, default: milliseconds, description })
}

function Bytes (bytes: number, description: string) {
  return Type.Integer({ minimum: 1024, maximum: 1024 * mebibyte, default: bytes, description })
}

function Count (count: number, description: string, maximum = 1_000_000) {
  return Type.Integer({ minimum: 1, maximum, default: count, description })
}

/** The form of a name. `patternErrorMessage` is what editors say, and so do we. */
interface NameRule { pattern: string, patternErrorMessage: string }

const word: NameRule = { pattern: '^\\S+$', patternErrorMessage: 'names must not contain spaces' }

/** Returns a map by names of the operator's choice. */
function Named<T extends TSchema> (entry: T, description: string, name: NameRule = word) {
  return Type.Record(Type.String(), entry, { default: {}, description, propertyNames: name })
}

const Text = (description: string) => Type.String({ minLength: 1, description })

const HttpUrl = (description: string) => Type.String({
  pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
  patternErrorMessage: 'must be an http:// or https:// address without user, query and fragment',
  description
})

/** The place a secret is to be read from; anything else in its place may be the secret itself. */
export const secretReference = '^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$'

declare const namesSecret: unique symbol

/** `env:NAME` or `file:PATH`, recognised so that settings can hold the secret in its place. */
export type SecretReference = string & { readonly [namesSecret]: true }

const notWrittenHere = 'secrets are not written here: name a variable (env:NAME) or a file (file:PATH)'

const Secret = (description: string) => Type.Unsafe<SecretReference>({
  type: 'string',
  pattern: secretReference,
  patternErrorMessage: notWrittenHere,
  description: `${description} As \`env:NAME\` or \`file:PATH\`, never the secret itself; white space ` +
    'around it is left out.'
})

const Headers = (description: string) => Named(Secret('Value of this header.'), description, {
  pattern: '^[A-Za-z0-9!#$%&\'*+.^_`|~-]+$',
  patternErrorMessage: 'is not the name of a header'
})

const TimeoutsConfig = Section({
  connect_ms: Milliseconds(10_000, 'Until the connection is open.'),
  first_byte_ms: Milliseconds(60_000, 'Until a streamed answer begins.'),
  response_ms: Milliseconds(600_000, 'Until a whole answer begins, which comes only with its body.'),
  idle_bytes_ms: Milliseconds(120_000, 'Between two reads of an answer, comments included.'),
  idle_events_ms: Milliseconds(300_000, 'Between two reads that contain an event.')
}, 'Time-outs for this provider.')

const SlowStreamConfig = Closed({
  first_output_ms: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: hour,
    description: 'Longest wait for the first output of a stream. After it the next model of the call is asked instead, if there is one.'
  })),
  pause_ms: Type.Optional(Type.Integer({
    minimum: 1, maximum: hour, description: 'Longest pause between two events of an answer that has begun. After it the answer ends with an error.'
  })),
  events_per_second: Type.Optional(Type.Number({
    exclusiveMinimum: 0, maximum: 1_000_000, description: 'Fewest events per second of an answer that has begun. Below it the answer ends with an error.'
  })),
  window_ms: Milliseconds(10_000, 'Time over which `events_per_second` is measured.', hour)
}, {
  description: 'Streams that are slower are failures, for at most one stream in 20. Time in which the caller does not read does not count. Default: none.'
})

const QuirksConfig = Section({
  token_limit_field: Type.Optional(OneOf(['max_tokens', 'max_completion_tokens'], {
    description: 'The only token limit it knows. Default: the one the caller used.'
  })),
  omit: Type.Optional(Type.Array(Text('A field.'), {
    description: 'Fields of a chat request it refuses; they are left out.'
  })),
  stream_usage: Type.Optional(Type.Boolean({
    description: 'False when it does not know `stream_options`.'
  })),
  choices: Type.Optional(Type.Boolean({
    description: 'False when it gives one choice only; more are asked for in parallel.'
  })),
  lenient_finish: Type.Optional(Type.Boolean({
    description: 'True when its streams may end without a finish reason.'
  })),
  reasoning_effort: Type.Optional(OneOf(['field', 'object', 'omit'], {
    description: 'Send `reasoning_effort`, send `reasoning: {effort}`, or nothing.'
  })),
  forward: Type.Optional(Type.Array(Text('A field.'), {
    description: 'Fields of a request that only this kind of server knows; sent on.'
  })),
  echo: Type.Optional(Type.Array(Text('A field.'), {
    description: 'Fields of assistant messages that it wants back in the history.'
  })),
  obfuscation: Type.Optional(Type.Boolean({
    description: 'True when it pads its streams with random text by default.'
  })),
  custom_tools: Type.Optional(Type.Boolean({ description: 'False when it refuses free-form tools.' })),
  legacy_functions: Type.Optional(Type.Boolean({
    description: 'True when it knows the deprecated `functions`; else they are sent as tools.'
  })),
  rename: Type.Optional(Type.Record(Type.String(), Text('Its name there.'), {
    description: 'Renamed fields of a chat request: our name, then its name.', propertyNames: word
  })),
  tool_call_id_length: Type.Optional(Type.Integer({
    minimum: 8,
    maximum: 40,
    description: 'Required length of tool-call ids, in letters and digits; other ids are replaced.'
  })),
  tool_images: Type.Optional(Type.Boolean({
    description: 'False when pictures from tools cannot be shown to its models: it takes no user message after those of tools.'
  })),
  base64_embeddings: Type.Optional(Type.Boolean({
    description: 'False when it does not know embeddings in base64; they are made here.'
  }))
}, 'Deviations from its dialect, in addition to those of its kind.')

const WeightedKey = Closed({
  key: Secret('The key.'),
  weight: Type.Number({
    minimum: 0, maximum: 1_000_000, default: 1, description: 'Its share of the requests; 0: only when the others cool down.'
  })
})
type WeightedKey = Static<typeof WeightedKey>

export const ProviderConfig = Closed({
  kind: Type.Optional(OneOf([...providerKinds], {
    description: 'Kind of provider. Default: the name of the entry if that is a kind, else ' +
      '`openai-compatible`.'
  })),
  enabled: Type.Boolean({ default: true, description: 'False: the entry is ignored.' }),
  base_url: Type.Optional(HttpUrl('Default: the public address of the kind, where it has one.')),
  api_key: Type.Optional(Secret(
    'Default: the variable of the provider (`OPENAI_API_KEY`), where it has one. Without any, ' +
    'callers bring their own key.'
  )),
  api_keys: Type.Optional(Type.Array(Type.Unsafe<SecretReference | WeightedKey>({
    ...WeightedKey, type: ['string', 'object'], pattern: secretReference, patternErrorMessage: notWrittenHere
  }), {
    minItems: 1,
    maxItems: 64,
    description: 'Several keys instead of `api_key`, or maps of one and its weight. A key that is limited or refused cools ' +
      'down by itself, and the next one is tried before another provider.'
  })),
  headers: Headers('Sent with every request to it.'),
  timeouts: TimeoutsConfig,
  slow_stream: Type.Optional(SlowStreamConfig),
  retries: Type.Integer({
    minimum: 0,
    maximum: 10,
    default: 2,
    description: 'Further attempts at the same model after a transient failure, before the first byte.'
  }),
  on_disconnect: OneOf(['abort', 'drain'], {
    default: 'abort',
    description: 'When the client disconnects: abort the provider request, or read the answer to its end for exact usage.'
  }),
  connections: Count(256, 'Sockets to it, per process.', 65_536),
  waiting_calls: Count(1024, 'Requests that may wait for a socket, per process, fairly among keys; more go to the next model or are refused with 503.', 1_000_000),
  quirks: QuirksConfig,
  list_models: Type.Optional(Type.Boolean({
    description: 'Merge its own model list into ours. Default: true for servers that run models ' +
      'of your choice, false for those whose models the catalogue knows.'
  })),
  options: Type.Record(Type.String(), Type.Unknown(), {
    default: {},
    description: 'Options of this kind only: `api_version` of Azure, the pace of the sandbox.'
  })
}, { description: 'A provider. Its name is the prefix of its models.' })
export type ProviderConfig = Static<typeof ProviderConfig>

export const ModelConfig = Closed({
  alias: Type.Optional(Text('Another model or route this name stands for; alone in its entry.')),
  hidden: Type.Boolean({ default: false, description: 'Usable, but not listed.' }),
  status: Type.Optional(OneOf(['enabled', 'disabled', 'preview', 'deprecated'], {
    description: 'A disabled model is not found; the others are usable.'
  })),
  display_name: Type.Optional(Text('For people.')),
  description: Type.Optional(Text('One or two sentences.')),
  capabilities: Type.Optional(Type.Record(
    Type.String(),
    Type.Unsafe<boolean | number>({ type: ['boolean', 'number'] }),
    { description: 'Capabilities, and limits in tokens.', propertyNames: word }
  )),
  traits: Type.Optional(ModelTraits),
  price: Type.Optional(Closed(priceFields, { description: 'Its price, in place of that of the catalogue; tokens in USD per million.' })),
  attributes: Type.Optional(Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 1 }), {
    description: 'Attributes from 0 to 1: `intelligence`, `speed`, `accuracy`, `creativity`, or any other. ' +
      '`cost`, of which 1 is most expensive, follows from its price unless it is set here.',
    propertyNames: word
  }))
}, { description: 'A model of your own, or a change to one of the catalogue.' })
export type ModelConfig = Static<typeof ModelConfig>

export const RouteStrategy = OneOf(['in_order', 'weighted', 'cheapest', 'fastest', 'balanced'], {
  default: 'in_order',
  description: 'Order of attempts: the first of the list; one drawn by weight; the one with the lowest price; ' +
    'the one that has recently begun to answer soonest; the one with the least work for its speed. The others follow when it fails.'
})
export type RouteStrategy = Static<typeof RouteStrategy>

const WeightedModel = Closed({
  model: Text('A model id, an alias or another route.'),
  weight: Type.Number({
    minimum: 0,
    maximum: 1_000_000,
    default: 1,
    description: 'Its share of the calls where the strategy is `weighted`; 0: only when the others fail.'
  }),
  settings: Type.Optional(Type.Record(Type.String(), Type.Unknown(), {
    description: 'Fields of a chat request that it gets where the request does not have them: `temperature`, `reasoning_effort`, …'
  }))
})
type WeightedModel = Static<typeof WeightedModel>

const RouteModels = Closed({
  models: Type.Array(Type.Unsafe<string | WeightedModel>({ ...WeightedModel, type: ['string', 'object'], minLength: 1 }), {
    minItems: 1, description: 'Models, aliases or routes, or maps of one with its weight and settings.'
  }),
  strategy: RouteStrategy,
  hedge_after_ms: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: hour,
    description: 'Start the next model as well when the first has not begun to answer after this time; the first answer is used, ' +
      'the other request aborted. For at most one call in 20. Default: never.'
  }))
})

/** Not a union: of a mistake in one, all its members would have something to say. */
export const RouteConfig = Type.Unsafe<string[] | Static<typeof RouteModels>>({
  ...RouteModels, type: ['array', 'object'], items: Text('A model id, an alias or another route.'), minItems: 1
})
export type RouteConfig = Static<typeof RouteConfig>

export const ToolServerConfig = Closed({
  url: Type.Optional(HttpUrl('URL of a remote server. Either this or `command`.')),
  headers: Headers('Sent with every request to `url`.'),
  command: Type.Optional(Text('A program to run here, looked up in PATH. Either this or `url`.')),
  args: Type.Array(Type.String(), { default: [], description: 'Arguments of `command`.' }),
  env: Named(Secret('Value of this variable.'), 'Environment of `command`.', {
    pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    patternErrorMessage: 'is not the name of a variable'
  }),
  timeout_ms: Type.Optional(Type.Integer({
    minimum: 1, maximum: hour, description: 'Time-out of one call. Default: `tools.call_ms`.'
  })),
  allowed_tools: Type.Optional(Type.Array(Text('A tool.'), {
    description: 'The only tools models may call. Default: all.'
  })),
  shared: Type.Boolean({
    default: false,
    description: 'True: keys share a session, for servers that keep no state in it. Else each key has its own, of a command its own process.'
  })
}, { description: 'A tool server (MCP): remote, or a command run here.' })
export type ToolServerConfig = Static<typeof ToolServerConfig>

const KeyLimitsConfig = Closed({
  requests_per_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Calls to providers per minute; a full minute\'s amount may be used at once.' })),
  tokens_per_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Tokens per minute, prompt and completion together.' })),
  concurrent_calls: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Concurrent calls.' })),
  budget: Type.Optional(Closed({
    usd: Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000, description: 'Dollars.' }),
    per: OneOf(['day', 'month', 'total'], { default: 'month', description: 'Period in UTC: day, month or total.' }),
    unpriced: Type.Optional(OneOf(['allow', 'refuse'], {
      description: 'Whether it may use models without a known price, which count as free. Default: refuse.'
    }))
  }, { description: 'Budget.' })),
  strict: Type.Optional(Type.Boolean({
    description: 'Limit the length of each answer to what is left of the budget. Default: true for a key with a budget.'
  }))
}, { description: 'Limits of a key; without an entry there is no limit.' })

export const KeyConfig = Closed({
  name: Text('Name in the log and in usage records.'),
  key: Secret('The key callers send.'),
  endpoints: Type.Optional(Type.Array(Text('An endpoint: `chat`, `embeddings`, …'), {
    description: 'The only endpoints it may call. Default: all.'
  })),
  models: Type.Optional(Type.Array(Text('A model id, or `provider/*`.'), {
    description: 'The only models it may use. Default: all.'
  })),
  mcp_servers: Type.Optional(Type.Array(Text('A tool server, `org/name`, or `*`.'), {
    description: 'The only tool servers it may name. Default: all.'
  })),
  mcp_urls: Type.Optional(Type.Boolean({
    description: 'True: its calls may name tool servers by URL. Default: true if it may name all tool servers.'
  })),
  expires_at: Type.Optional(Type.String({
    pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2})?(Z|[+-]\\d{2}:\\d{2}))?$',
    patternErrorMessage: 'must be a day (2030-12-31) or a moment (2030-12-31T18:00:00Z)',
    description: 'A day, which counts from its first second in UTC, or a moment.'
  })),
  limits: Type.Optional(KeyLimitsConfig)
}, { description: 'A key callers present to this gateway.' })
export type KeyConfig = Static<typeof KeyConfig>

const LimitsConfig = Section({
  json_body_bytes: Bytes(16 * mebibyte, 'A JSON request. Strings of 64 KiB and more, such as images in base64, count for `media_body_bytes` only.'),
  media_body_bytes: Bytes(50 * mebibyte, 'A JSON request, strings of any length included.'),
  json_values: Count(500_000, 'Values of a JSON request. Keys, strings, objects and lists count as eight numbers: they take as long to parse.', 1_000_000),
  json_depth: Count(100, 'Levels of a JSON request.', 1000),
  chat_messages: Count(20_000, 'Messages of a chat request.', 1_000_000),
  chat_parts: Count(20_000, 'Parts of all messages of a chat request together.', 1_000_000),
  chat_tools: Count(1024, 'Tools, functions included, of a chat request.', 100_000),
  models_per_call: Count(16, 'Models in the `model` list of one request.', 1000),
  audio_file_bytes: Bytes(25 * mebibyte, 'An uploaded audio file.'),
  document_bytes: Bytes(50 * mebibyte, 'A document to be read, decoded or fetched.'),
  answer_bytes: Bytes(64 * mebibyte, 'One whole answer of a provider, decoded. Images and vectors may be as large as those get.'),
  event_bytes: Bytes(8 * mebibyte, "One event of a provider's stream."),
  open_calls: Count(10_000, 'Calls in flight at once, of callers with a key; more are refused with 503.'),
  key_share: Type.Number({
    exclusiveMinimum: 0,
    maximum: 1,
    default: 0.5,
    description: 'Share of `open_calls`, `body_memory_bytes` and `upload_disk_bytes` one key may hold, of what other keys ' +
      'leave. Its further calls are refused with 503.'
  }),
  body_memory_bytes: Type.Optional(Type.Integer({
    minimum: mebibyte,
    maximum: 1024 * 1024 * mebibyte,
    description: 'Memory for the JSON bodies of all calls in flight, per process; more are refused with 503. Two bytes for each ' +
      'byte received and 128 for each value. Default: a quarter of the heap limit (`--max-old-space-size`).'
  })),
  upload_disk_bytes: Type.Integer({
    minimum: mebibyte,
    maximum: 1024 * 1024 * mebibyte,
    default: 4096 * mebibyte,
    description: 'Uploaded files of all calls in flight, per process; more are refused with 503.'
  }),
  pipelined_requests: Count(16, 'Requests of one connection that may wait for an answer; the next is refused with 503 and the connection closed.', 1000),
  call_ms: Milliseconds(600_000, 'A call, from acceptance to the last byte.'),
  body_ms: Milliseconds(60_000, 'Until a request body has arrived.'),
  headers_ms: Milliseconds(30_000, 'Until request headers have arrived.'),
  default_key: Type.Optional(KeyLimitsConfig)
}, 'Limits of one call, and of keys without limits of their own.')

const ToolsConfig = Section({
  connect_ms: Milliseconds(5000, 'Resolving, connecting and listing all servers of a call, together.'),
  call_ms: Milliseconds(30_000, 'One call of a tool.'),
  loop_ms: Milliseconds(300_000, 'All turns of a call, together.'),
  loop_tokens: Count(10_000_000, 'Tokens of all turns of a call, where providers count them; no turn begins after.', 1_000_000_000),
  result_bytes: Bytes(256 * 1024, 'One result; more is cut off.'),
  calls_per_turn: Count(32, 'Tool calls a model may ask for in one turn.', 1024),
  repeats: Count(3, 'The same call with the same arguments, before the loop stops.', 1000),
  list_ttl_ms: Milliseconds(300_000, 'Time a tool list is cached.'),
  session_idle_ms: Milliseconds(300_000, 'Time an idle session stays open.'),
  sessions: Count(256, 'Sessions open at once.', 65_536),
  allowed_hosts: Type.Array(Type.String({
    pattern: '^[A-Za-z0-9.:_-]+(/\\d{1,3})?$',
    patternErrorMessage: 'must be a host, an address or a range (10.0.0.0/8)'
  }), {
    default: [],
    description: "Hosts or address ranges callers' addresses may reach although they are not public."
  }),
  registry_url: Type.Optional(HttpUrl('Registry for slugs that are not listed here.'))
}, 'The tool loop.')

const ServerConfig = Section({
  host: Type.String({
    minLength: 1,
    pattern: '^[A-Za-z0-9._:%-]*$',
    patternErrorMessage: 'must be an address or a name of this machine',
    default: '127.0.0.1',
    description: 'Address to listen on; `0.0.0.0` for all.'
  }),
  hosts: Type.Array(Type.String({
    pattern: '^(\\*|[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])$',
    patternErrorMessage: 'must be a host name or an address without a port, or `*`'
  }), {
    default: [],
    description: 'Names that callers may use for this gateway (`Host`), besides those of loopback; `*` for any. Default: any, but at a loopback address only those of loopback.'
  }),
  port: Type.Integer({ minimum: 0, maximum: 65_535, default: 8080, description: '0: any free one.' }),
  workers: Type.Unsafe<number | 'auto'>({
    type: ['integer', 'string'],
    minimum: 1,
    maximum: 1024,
    pattern: '^auto$',
    patternErrorMessage: 'must be a whole number or `auto`',
    default: 1,
    description: 'Processes that serve; `auto` for one per processor.'
  }),
  log_level: OneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    default: 'info', description: 'Lowest level that is logged.'
  }),
  data_dir: Type.String({
    minLength: 1,
    default: '.headgate',
    description: 'Directory of the embedded store, relative to the working directory.'
  }),
  open_health: Type.Boolean({ default: false, description: 'Answer `/health` without a key.' }),
  shutdown_delay_ms: Type.Integer({
    minimum: 0,
    maximum: hour,
    default: 500,
    description: 'How long new connections are still accepted after SIGTERM while `/readyz` says 503, so that a load balancer can notice.'
  }),
  drain_ms: Milliseconds(8000, 'How long open calls may go on after that. With the default, a stop fits the 10 seconds Docker gives it.'),
  worker_timeout_ms: Milliseconds(10_000, 'How long a worker may block before it is killed and replaced.'),
  keep_alive_ms: Milliseconds(65_000, 'Time an idle client connection stays open.'),
  connections: Count(10_000, 'Connections of callers at once, per process; more are closed as they come.')
}, 'The process and where it listens. Changes need a restart, except to `log_level` and `open_health`.')

const MetricsConfig = Closed({
  host: Type.String({
    minLength: 1, default: '127.0.0.1', description: 'Address to listen on. There is no authentication.'
  }),
  port: Type.Integer({ minimum: 0, maximum: 65_535, default: 9464, description: 'Another than `server.port`; 0: any free one.' })
}, { description: 'Metrics for Prometheus at `GET /metrics`, on a port of their own. Default: off; `{}` turns them on.' })

const DeferredConfig = Section({
  emulate: Type.Boolean({
    default: false,
    description: 'Defer answers also for providers that cannot; else they answer at once.'
  }),
  keep_ms: Milliseconds(day, 'Time a deferred answer is kept.', 30 * day),
  pending: Count(1000, 'Pending deferred calls. A key may use at most half of the remaining capacity.', 100_000),
  key_bytes: Bytes(256 * mebibyte, 'Calls and answers kept for one key; more are refused until some expire.')
}, 'Deferred completions.')

const UsageConfig = Section({
  keep_days: Count(90, 'Days that usage records are kept.', 3650),
  keep_rows: Count(1_000_000, 'Maximum number of usage records; the oldest are deleted first.', 1_000_000_000)
}, 'Usage records: calls and their cost.')

export const Config = Closed({
  providers: Named(ProviderConfig, 'Providers. Any server that speaks the chat-completions ' +
    'dialect is one entry with a name of your choice and its `base_url`.', {
    pattern: '^[a-z0-9][a-z0-9._-]*$',
    patternErrorMessage: 'a name is lower-case letters, digits, `.`, `_` and `-`'
  }),
  catalogue: Type.Optional(Text('A file of models, relative to this one, of the shape of `lib/models/catalogue.json`: its models replace those ' +
    'of the built-in catalogue that have the same id, and are added to the others; its families are matched first.')),
  models: Named(ModelConfig, 'By id, with the provider prefix; or by any name, for an alias.'),
  routes: Named(RouteConfig, 'Names for lists of models that are tried until one answers: a list, or a map of ' +
    '`models` and the `strategy` that orders them.'),
  mcp_servers: Named(ToolServerConfig, 'Tool servers callers may name, by `org/name`.', {
    pattern: '^[A-Za-z0-9_-]+/[A-Za-z0-9_-]+$',
    patternErrorMessage: 'a tool server is named `org/name`'
  }),
  keys: Type.Array(KeyConfig, { default: [], description: 'Keys that may call.' }),
  limits: LimitsConfig,
  tools: ToolsConfig,
  server: ServerConfig,
  metrics: Type.Optional(MetricsConfig),
  usage: UsageConfig,
  deferred: DeferredConfig
}, { title: 'Headgate', description: 'Configuration of the Headgate AI gateway.' })
export type Config = Static<typeof Config>

/**
 * `headgate.yaml`: every entry, its range, its default and what it is for. The one place where
 * defaults are written: `lib/config` fills them in from here, and editors show them from here.
 *
 * Types are those of a complete configuration, with the defaults filled in. Durations are in
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
  connect_ms: Milliseconds(10_000, 'Longest wait for a connection.'),
  first_byte_ms: Milliseconds(60_000, 'Longest wait for the head of a streamed answer.'),
  response_ms: Milliseconds(600_000, 'Longest wait for the head of a complete answer, which comes only with its body.'),
  idle_bytes_ms: Milliseconds(120_000, 'Longest wait between two reads of an answer; comments of a stream count as reads.'),
  idle_events_ms: Milliseconds(300_000, 'Longest wait between two reads that contain an event.')
}, 'Timeouts for this provider.')

const SlowStreamConfig = Closed({
  first_output_ms: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: hour,
    description: 'Longest wait for the first output of a stream. After it the next model of the call is tried instead, if there is one.'
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
    description: 'The only token limit that the server knows. Default: the one the caller used.'
  })),
  omit: Type.Optional(Type.Array(Text('A field.'), {
    description: 'Fields of a chat request that the server refuses; they are left out.'
  })),
  stream_usage: Type.Optional(Type.Boolean({
    description: 'False when the server does not know `stream_options`.'
  })),
  multiple_choices: Type.Optional(Type.Boolean({
    description: 'False when the server gives only one choice; further ones are requested in parallel.'
  })),
  lenient_finish: Type.Optional(Type.Boolean({
    description: 'True when streams of the server may end without a finish reason.'
  })),
  reasoning_effort: Type.Optional(OneOf(['field', 'object', 'omit'], {
    description: 'Send `reasoning_effort`, send `reasoning: {effort}`, or nothing.'
  })),
  extra_fields: Type.Optional(Type.Array(Text('A field.'), {
    description: 'Further fields of a request that are sent on: those only this kind of server knows.'
  })),
  keep_in_history: Type.Optional(Type.Array(Text('A field.'), {
    description: 'Further fields of assistant messages that are sent back in the history.'
  })),
  obfuscation: Type.Optional(Type.Boolean({
    description: 'True when the server pads its streams with random text by default.'
  })),
  custom_tools: Type.Optional(Type.Boolean({ description: 'False when the server refuses free-form tools.' })),
  legacy_functions: Type.Optional(Type.Boolean({
    description: 'True when the server knows the deprecated `functions`; otherwise they are sent as tools.'
  })),
  rename: Type.Optional(Type.Record(Type.String(), Text('Its name at the provider.'), {
    description: 'Renamed fields of a chat request: the name in this API, then the name at the provider.', propertyNames: word
  })),
  tool_call_id_length: Type.Optional(Type.Integer({
    minimum: 8,
    maximum: 40,
    description: 'Required length of tool-call ids, in letters and digits; other ids are replaced.'
  })),
  tool_images: Type.Optional(Type.Boolean({
    description: 'False when images from tools cannot be shown to its models: the server takes no user message after tool messages.'
  })),
  responses_api: Type.Optional(Type.Boolean({
    description: 'True when the server has `POST /responses`: requests of that dialect are sent on as they are. Default: true for OpenAI and Azure.'
  })),
  base64_embeddings: Type.Optional(Type.Boolean({
    description: 'False when the server does not know base64 embeddings; the gateway encodes them.'
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
  headers: Headers('Sent with every request to the provider.'),
  timeouts: TimeoutsConfig,
  slow_stream: Type.Optional(SlowStreamConfig),
  retries: Type.Integer({
    minimum: 0,
    maximum: 10,
    default: 3,
    description: 'Further attempts at the same model after a transient failure, before the first byte.'
  }),
  on_disconnect: OneOf(['abort', 'drain'], {
    default: 'abort',
    description: 'When the client disconnects: abort the provider request, or read the answer to its end for exact usage.'
  }),
  max_connections: Type.Optional(Type.Integer({
    minimum: 1, maximum: 65_536, description: 'Maximum number of connections to the provider, per process; further requests wait. Default: no limit.'
  })),
  max_waiting_calls: Count(1024, 'With `max_connections`: maximum number of requests that wait, per process, fairly among keys; further ones go to the next model or are refused with 503.'),
  max_waiting_ms: Milliseconds(10_000, 'Maximum time that a request waits; then it goes to the next model or is refused with 503.'),
  quirks: QuirksConfig,
  list_models: Type.Optional(Type.Boolean({
    description: 'Add the provider\'s own model list to the catalogue. Default: true for servers that run models ' +
      'of your choice, false for those whose models the catalogue knows.'
  })),
  options: Type.Record(Type.String(), Type.Unknown(), {
    default: {},
    description: 'Options of this kind only: `api_version` of Azure, the pace of the sandbox.'
  })
}, { description: 'A provider. Its name is the prefix of its models.' })
export type ProviderConfig = Static<typeof ProviderConfig>

export const ModelConfig = Closed({
  alias: Type.Optional(Text('Another model or route this name stands for. Must be the only field of its entry.')),
  hidden: Type.Boolean({ default: false, description: 'Usable, but not listed.' }),
  status: Type.Optional(OneOf(['enabled', 'disabled', 'preview', 'deprecated'], {
    description: 'A disabled model is not found; the others are usable.'
  })),
  display_name: Type.Optional(Text('A human-readable name.')),
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
      '`cost`, where 1 is most expensive, follows from its price unless it is set here.',
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
    description: 'Defaults for fields of a chat request to this model: `temperature`, `reasoning_effort`, …'
  }))
})
type WeightedModel = Static<typeof WeightedModel>

export const RouteMapConfig = Closed({
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
export type RouteMapConfig = Static<typeof RouteMapConfig>

/** Not a union: for one mistake, every member of it would report an error. */
export const RouteConfig = Type.Unsafe<string[] | RouteMapConfig>({
  ...RouteMapConfig, type: ['array', 'object'], items: Text('A model id, an alias or another route.'), minItems: 1
})
export type RouteConfig = Static<typeof RouteConfig>

export const ToolServerConfig = Closed({
  url: Type.Optional(HttpUrl('URL of a remote server. Either this or `command`.')),
  headers: Headers('Sent with every request to `url`.'),
  command: Type.Optional(Text('A program to run on this machine, looked up in PATH. Either this or `url`.')),
  args: Type.Array(Type.String(), { default: [], description: 'Arguments of `command`.' }),
  env: Named(Secret('Value of this variable.'), 'Environment of `command`.', {
    pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    patternErrorMessage: 'is not the name of a variable'
  }),
  timeout_ms: Type.Optional(Type.Integer({
    minimum: 1, maximum: hour, description: 'Timeout of one call. Default: `tools.call_ms`.'
  })),
  allowed_tools: Type.Optional(Type.Array(Text('A tool.'), {
    description: 'The only tools models may call. Default: all.'
  })),
  shared: Type.Boolean({
    default: false,
    description: 'True: keys share one session, for servers that keep no state in it. Otherwise each key has its own session, and its own process of a `command`.'
  })
}, { description: 'A tool server (MCP): remote, or a command run on this machine.' })
export type ToolServerConfig = Static<typeof ToolServerConfig>

export const KeyLimitsConfig = Closed({
  requests_per_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Calls to providers per minute; a full minute\'s amount may be used at once.' })),
  tokens_per_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Tokens per minute, prompt and completion together.' })),
  concurrent_calls: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Concurrent calls.' })),
  budget: Type.Optional(Closed({
    usd: Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000, description: 'Dollars.' }),
    per: OneOf(['day', 'month', 'total'], { default: 'month', description: 'Period in UTC: day, month or total.' }),
    unpriced: Type.Optional(OneOf(['allow', 'refuse'], {
      description: 'Whether the key may use models and fields without a known price, which count as free. Default: refuse.'
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
  provider_objects: Type.Optional(Type.Boolean({
    description: 'True: its calls may use files, containers and threads in the gateway\'s accounts at providers, which all such keys share. Default: false.'
  })),
  mcp_urls: Type.Optional(Type.Boolean({
    description: 'True: its calls may name tool servers by URL. Default: true if it may name all tool servers.'
  })),
  expires_at: Type.Optional(Type.String({
    pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2})?(Z|[+-]\\d{2}:\\d{2}))?$',
    patternErrorMessage: 'must be a date (2030-12-31) or a time (2030-12-31T18:00:00Z)',
    description: 'A date, from its first second in UTC, or a time.'
  })),
  limits: Type.Optional(KeyLimitsConfig)
}, { description: 'A key callers present to this gateway.' })
export type KeyConfig = Static<typeof KeyConfig>

const LimitsConfig = Section({
  json_body_bytes: Bytes(16 * mebibyte, 'Maximum size of a JSON body, not counting strings of 64 KiB and more, such as images in base64.'),
  json_body_total_bytes: Bytes(50 * mebibyte, 'Maximum size of a JSON body, strings of any length included.'),
  json_values: Count(500_000, 'Maximum number of values in a JSON body. Keys, strings, objects and lists count as eight numbers: they take as long to parse.', 1_000_000),
  json_depth: Count(100, 'Maximum nesting of a JSON body.', 1000),
  json_compression: Count(20, 'Maximum compression of a JSON body of more than 1 MiB: bytes it may become for each byte received. Text seldom exceeds 10.', 1000),
  // SQLite writes a text in one turn of the event loop, while other calls wait: 6 MB in 20 ms, 48 MB in 140 ms.
  stored_body_bytes: Bytes(6 * mebibyte, 'Maximum size of the body of a call that is kept in the store: a deferred one, a response in the background or a stored response.'),
  form_fields: Count(100, 'Maximum number of fields of a form.', 1000),
  form_files: Count(32, 'Maximum number of files of a form.', 1000),
  chat_messages: Count(20_000, 'Maximum number of messages of a chat request.', 1_000_000),
  chat_parts: Count(20_000, 'Maximum number of content parts, of all messages of a chat request together.', 1_000_000),
  chat_tools: Count(1024, 'Maximum number of tools of a chat request, functions included.', 100_000),
  models_per_call: Count(16, 'Maximum number of models in the `model` list of a request.', 1000),
  audio_file_bytes: Bytes(25 * mebibyte, 'Maximum size of an uploaded audio file.'),
  document_bytes: Bytes(50 * mebibyte, 'Maximum size of a document for OCR, decoded or fetched.'),
  answer_bytes: Bytes(64 * mebibyte, 'Maximum size of one complete answer of a provider, decompressed. Answers with images and embeddings have higher, fixed bounds.'),
  event_bytes: Bytes(8 * mebibyte, 'Maximum size of one event of a stream.'),
  open_calls: Count(10_000, 'Maximum number of calls in flight, of callers with a key; further ones are refused with 503.'),
  max_share_per_key: Type.Number({
    exclusiveMinimum: 0,
    maximum: 1,
    default: 0.5,
    description: 'Share of `open_calls`, `body_memory_bytes` and `upload_disk_bytes` one key may hold, of what other keys ' +
      'leave. Its further calls are refused with 503.'
  }),
  body_memory_bytes: Type.Optional(Type.Integer({
    minimum: mebibyte,
    maximum: 1024 * 1024 * mebibyte,
    description: 'Memory for the bodies of all calls in flight, per process; further bodies are refused with 503. A JSON body takes two bytes for ' +
      'each byte received and 128 for each value; uploaded files take their size, and only while half of the memory is free. Default: a quarter of ' +
      'the heap limit (`--max-old-space-size`).'
  })),
  upload_disk_bytes: Type.Integer({
    minimum: mebibyte,
    maximum: 1024 * 1024 * mebibyte,
    default: 4096 * mebibyte,
    description: 'Disk space for the uploaded files of all calls in flight that are not in memory, per process; further ones are refused with 503.'
  }),
  pipelined_requests: Count(16, 'Maximum number of requests of one connection that wait for an answer; the next is refused with 503 and the connection closed.', 1000),
  call_ms: Milliseconds(600_000, 'Longest duration of a call, from acceptance to the last byte.'),
  body_ms: Milliseconds(60_000, 'Longest wait for a complete request body.'),
  headers_ms: Milliseconds(30_000, 'Longest wait for complete request headers.'),
  default_key_limits: Type.Optional(KeyLimitsConfig),
  without_coordination: OneOf(['share', 'allow', 'refuse'], {
    default: 'share',
    description: 'Calls of limited keys while the Redis of `coordination.url` is away: each process admits its share of each limit, admits all, or refuses them with 503.'
  })
}, 'Limits of one call, and of keys without limits of their own.')

const ToolsConfig = Section({
  connect_ms: Milliseconds(5000, 'Longest time to resolve, connect to and list all tool servers of a call, together.'),
  call_ms: Milliseconds(30_000, 'Longest duration of one tool call.'),
  loop_ms: Milliseconds(300_000, 'Longest duration of all turns of a call, together.'),
  loop_tokens: Count(10_000_000, 'Tokens of all turns of a call, where providers report them; no further turn is started once they are used.', 1_000_000_000),
  result_bytes: Bytes(256 * 1024, 'Maximum size of one tool result; what exceeds it is cut off.'),
  calls_per_turn: Count(32, 'Maximum number of tool calls in one turn.', 1024),
  max_identical_calls: Count(3, 'How often a tool may be called with the same arguments before the loop stops.', 1000),
  list_ttl_ms: Milliseconds(300_000, 'Time a tool list is cached.'),
  session_idle_ms: Milliseconds(300_000, 'Time an idle session stays open.'),
  max_sessions: Count(256, 'Maximum number of open sessions.', 65_536),
  allowed_hosts: Type.Array(Type.String({
    pattern: '^[A-Za-z0-9.:_-]+(/\\d{1,3})?$',
    patternErrorMessage: 'must be a host, an address or a range (10.0.0.0/8)'
  }), {
    default: [],
    description: "Hosts or address ranges that URLs in requests may reach although they are not public: tool servers, images and documents."
  }),
  registry_url: Type.Optional(HttpUrl('Registry for slugs that are not in `mcp_servers`.'))
}, 'The tool loop.')

const ServerConfig = Section({
  host: Type.String({
    minLength: 1,
    pattern: '^[A-Za-z0-9._:%-]*$',
    patternErrorMessage: 'must be an address or a name of this machine',
    default: '127.0.0.1',
    description: 'Address to listen on; `0.0.0.0` for all.'
  }),
  accepted_hosts: Type.Array(Type.String({
    pattern: '^(\\*|[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])$',
    patternErrorMessage: 'must be a host name or an address without a port, or `*`'
  }), {
    default: [],
    description: 'Host names that requests may use for this gateway (`Host`), in addition to loopback names; `*` for any. Default: any, but at a loopback address only loopback names.'
  }),
  port: Type.Integer({ minimum: 0, maximum: 65_535, default: 8080, description: 'Port to listen on; 0 for any free one.' }),
  workers: Type.Unsafe<number | 'auto'>({
    type: ['integer', 'string'],
    minimum: 1,
    maximum: 1024,
    pattern: '^auto$',
    patternErrorMessage: 'must be an integer or `auto`',
    default: 1,
    description: 'Number of worker processes; `auto` for one per processor.'
  }),
  log_level: OneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    default: 'info', description: 'Lowest level that is logged.'
  }),
  data_dir: Type.String({
    minLength: 1,
    default: '.headgate',
    description: 'Directory of the embedded store, relative to the working directory.'
  }),
  public_health: Type.Boolean({ default: false, description: 'Answer `/health` without a key.' }),
  public_url: Type.Optional(HttpUrl('The address by which people reach the gateway, for links of the dashboard. Default: that of their request.')),
  trust_proxy: Type.Boolean({
    default: false,
    description: 'True: a proxy in front sets `X-Forwarded-For` and `X-Forwarded-Proto`, and ends TLS. The dashboard relies on them.'
  }),
  shutdown_delay_ms: Type.Integer({
    minimum: 0,
    maximum: hour,
    default: 500,
    description: 'How long new connections are still accepted after SIGTERM while `/readyz` says 503, so that a load balancer can notice.'
  }),
  drain_ms: Milliseconds(8000, 'How long open calls may continue after that. With the default, a stop fits the 10 seconds that Docker allows.'),
  worker_timeout_ms: Milliseconds(10_000, 'How long a worker may block before it is killed and replaced.'),
  keep_alive_ms: Milliseconds(65_000, 'Time an idle client connection stays open.'),
  max_client_connections: Count(10_000, 'Maximum number of client connections, per process; further ones are closed at once.')
}, 'The process and where it listens. Changes need a restart, except to `log_level`, `public_health`, `public_url` and `trust_proxy`.')

const MetricsConfig = Closed({
  host: Type.String({
    minLength: 1, default: '127.0.0.1', description: 'Address to listen on. There is no authentication.'
  }),
  port: Type.Integer({ minimum: 0, maximum: 65_535, default: 9464, description: 'Must differ from `server.port`; 0 for any free one.' })
}, { description: 'Metrics for Prometheus at `GET /metrics`, on a port of their own. Default: off; `{}` turns them on.' })

const DeferredConfig = Section({
  for_all_providers: Type.Boolean({
    default: false,
    description: 'Run deferred calls in the gateway for providers that cannot defer. When off, such calls are completed at once; so are those with a body of more than `limits.stored_body_bytes`.'
  }),
  keep_ms: Milliseconds(day, 'Time a deferred answer is kept.', 30 * day),
  max_pending: Count(1000, 'Maximum number of pending deferred calls, and of responses that run in the background, per process. A key may use at most half of the remaining capacity.', 100_000),
  max_bytes_per_key: Bytes(256 * mebibyte, 'Maximum size of the calls and answers kept for one key; further calls are refused until some expire.')
}, 'Deferred completions.')

const ResponsesConfig = Section({
  store: Type.Boolean({
    default: true,
    description: 'Keep responses of the Responses API, unless a request says `store: false` or has a body of more than `limits.stored_body_bytes`. When off, none can be fetched or continued.'
  }),
  keep_ms: Milliseconds(30 * day, 'Time a response is kept.', 365 * day),
  max_bytes_per_key: Bytes(256 * mebibyte, 'Maximum size of the responses kept for one key; the oldest are deleted first.')
}, 'Stored responses of the Responses API.')

const StoreConfig = Section({
  url: Type.Optional(Secret('Address of a PostgreSQL database (`postgres://user:password@host/name`) that several gateways share. ' +
    'Default: SQLite in `server.data_dir`.')),
  pool_size: Count(10, 'Maximum number of connections to PostgreSQL, per process; usage records have two more.', 1000),
  connect_ms: Milliseconds(5000, 'Longest wait for a connection to PostgreSQL.'),
  statement_ms: Milliseconds(10_000, 'Longest duration of a query of PostgreSQL.'),
  keys_stale_ms: Milliseconds(day, 'How long keys of the store stay valid while it cannot be read; calls with them are refused with 503 after that.', 30 * day)
}, 'Where keys, usage records, deferred answers and stored responses are. Changes need a restart.')

const CoordinationConfig = Section({
  url: Type.Optional(Secret('Address of a Redis or Valkey server (`redis://user:password@host:port/database`, `rediss://` for TLS) in which all gateways ' +
    'count the limits of keys together. Default: each gateway counts for itself.')),
  timeout_ms: Milliseconds(500, 'Longest wait for a reply of Redis; then `limits.without_coordination` applies until it replies again.')
}, 'What gateways on several machines share besides the store. Changes need a restart.')

const UsageConfig = Section({
  keep_days: Count(90, 'Days that usage records are kept.', 3650),
  keep_rows: Count(1_000_000, 'Maximum number of usage records; the oldest are deleted first.', 1_000_000_000)
}, 'Usage records: calls and their cost.')

const DashboardConfig = Section({
  enabled: Type.Boolean({ default: true, description: 'False: there is no dashboard and no admin API. `dashboard: false` says the same.' }),
  insecure: Type.Boolean({
    default: false,
    description: 'True: serve the dashboard beyond loopback without TLS. Default: there it is served only with `server.trust_proxy`.'
  }),
  edit_config: Type.Boolean({ default: false, description: 'True: owners may save the configuration file in the dashboard.' })
}, 'The dashboard at `/dashboard/`, and the admin API behind it.')

export const Config = Closed({
  providers: Named(ProviderConfig, 'Providers. Any server that speaks the chat-completions ' +
    'dialect is one entry with a name of your choice and its `base_url`.', {
    pattern: '^[a-z0-9][a-z0-9._-]*$',
    patternErrorMessage: 'a name is lower-case letters, digits, `.`, `_` and `-`'
  }),
  catalogue: Type.Optional(Text('A file of models, relative to this one, of the shape of `lib/models/catalogue.json`: its models replace those ' +
    'of the built-in catalogue that have the same id, and are added to the others; its families are matched first.')),
  models: Named(ModelConfig, 'By id, with the provider prefix; or by any name, for an alias, which may have wildcards: `claude-*`.'),
  routes: Named(RouteConfig, 'Names for lists of models that are tried until one succeeds: a list, or a map of ' +
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
  store: StoreConfig,
  coordination: CoordinationConfig,
  usage: UsageConfig,
  deferred: DeferredConfig,
  responses: ResponsesConfig,
  dashboard: DashboardConfig
}, { title: 'Headgate', description: 'Configuration of the Headgate AI gateway.' })
export type Config = Static<typeof Config>

/** `providers` of `headgate.yaml`. */

import { Type, type Static } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Propagation } from './propagation.ts'
import { providerKinds } from '../providers.ts'
import { Closed, Count, hour, HttpUrl, Milliseconds, Section, Text, word } from './entries.ts'
import { Headers, notReferenced, Secret, secretReference, type SecretReference } from './secret.ts'

const TimeoutsConfig = Section(
  {
    connect_ms: Milliseconds(10_000, 'Longest wait for a connection.'),
    first_byte_ms: Milliseconds(60_000, 'Longest wait for the response headers of a streamed answer.'),
    response_ms: Milliseconds(
      600_000,
      'Longest wait for the response headers of a complete answer, which most servers send only with the ' +
      'body.'
    ),
    idle_bytes_ms: Milliseconds(
      120_000,
      'Longest wait between two reads of an answer; comments of a stream count as reads.'
    ),
    idle_events_ms: Milliseconds(300_000, 'Longest wait between two reads that contain an event.')
  },
  'Timeouts for this provider.'
)

const SlowStreamConfig = Closed(
  {
    first_output_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: hour,
        description:
          'Longest wait for the first output of a stream. After it the next model of the call is tried ' +
          'instead, if there is one.'
      })
    ),
    pause_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: hour,
        description:
          'Longest pause between two events of an answer that has begun. After it the answer ends with an ' +
          'error.'
      })
    ),
    events_per_second: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 1_000_000,
        description:
          'Fewest events per second of an answer that has begun. Below it the answer ends with an error.'
      })
    ),
    window_ms: Milliseconds(10_000, 'Time over which `events_per_second` is measured.', hour)
  },
  {
    description:
      'Streams slower than this count as failed, on average at most one stream in 20. Time in which the ' +
      'caller does not read does not count. Default: none.'
  }
)

const TlsConfig = Closed(
  {
    ca: Type.Optional(
      Secret(
        "PEM certificates of the CAs that are trusted to sign the server's certificate, instead of the " +
        'public CAs.'
      )
    ),
    cert: Type.Optional(Secret('Certificate that the gateway presents, with its chain, PEM.')),
    key: Type.Optional(Secret('Private key of `cert`, PEM.'))
  },
  {
    description:
      'TLS with this provider. Default: the authorities that Node.js trusts, and no certificate of the ' +
      'gateway.'
  }
)

const QuirksConfig = Section(
  {
    token_limit_field: Type.Optional(
      OneOf(['max_tokens', 'max_completion_tokens'], {
        description: 'The only token limit that the server knows. Default: the one the caller used.'
      })
    ),
    omit: Type.Optional(
      Type.Array(Text('A field.'), {
        description:
          'Fields of a chat request that the server refuses; they are left out. Replaces the list of its ' +
          'kind.'
      })
    ),
    stream_usage: Type.Optional(
      Type.Boolean({
        description: 'False when the server does not know `stream_options`.'
      })
    ),
    multiple_choices: Type.Optional(
      Type.Boolean({
        description: 'False when the server gives only one choice; further ones are requested in parallel.'
      })
    ),
    lenient_finish: Type.Optional(
      Type.Boolean({
        description: 'True when streams of the server may end without a finish reason.'
      })
    ),
    reasoning_effort: Type.Optional(
      OneOf(['field', 'object', 'omit'], {
        description: 'Send `reasoning_effort`, send `reasoning: {effort}`, or nothing.'
      })
    ),
    extra_fields: Type.Optional(
      Type.Array(Text('A field.'), {
        description:
          'Further fields of a chat request that are sent on: those that only this server knows. Replaces ' +
          'the list of its kind. Other unknown fields are dropped.'
      })
    ),
    keep_in_history: Type.Optional(
      Type.Array(Text('A field.'), {
        description:
          'Further fields of assistant messages and of their tool calls that are sent back in the history.'
      })
    ),
    file_urls: Type.Optional(
      Type.Boolean({ description: 'True when the server fetches files at addresses (`file_data`).' })
    ),
    obfuscation: Type.Optional(
      Type.Boolean({
        description: 'True when the server pads its streams with random text by default.'
      })
    ),
    custom_tools: Type.Optional(
      Type.Boolean({ description: 'False when the server refuses free-form tools.' })
    ),
    legacy_functions: Type.Optional(
      Type.Boolean({
        description:
          'True when the server knows the deprecated `functions`; otherwise they are sent as tools.'
      })
    ),
    rename: Type.Optional(
      Type.Record(Type.String(), Text('Its name at the provider.'), {
        description:
          'Renamed fields of a chat request, and `dimensions` of one for embeddings: the name in this ' +
          'API, then the name at the provider.',
        propertyNames: word
      })
    ),
    developer_role: Type.Optional(
      Type.Boolean({
        description:
          'True when the server knows messages of the role `developer`; otherwise they are sent as ' +
          '`system`. Default: true for OpenAI and Azure.'
      })
    ),
    content_lists: Type.Optional(
      Type.Boolean({
        description:
          'False when the server takes the content of a message only as a text: the texts of a list are ' +
          'joined. Default: false for DeepSeek.'
      })
    ),
    message_names: Type.Optional(
      OneOf(['all', 'user', 'none'], {
        description:
          'Messages that keep their `name`: all, those of users, or none. Default: `user` for xAI, `none` ' +
          'for Mistral, else `all`.'
      })
    ),
    refusals: Type.Optional(
      Type.Boolean({
        description:
          'False when the server does not know refusals in assistant messages: they are sent as text. ' +
          'Default: false for Mistral and xAI.'
      })
    ),
    json_schema: Type.Optional(
      Type.Boolean({
        description:
          'False when the server refuses a `response_format` with a schema: it is asked for any JSON, and ' +
          'the schema goes into the system message. Default: false for DeepSeek.'
      })
    ),
    tool_call_id_length: Type.Optional(
      Type.Integer({
        minimum: 8,
        maximum: 40,
        description: 'Required length of tool-call ids, in letters and digits; other ids are replaced.'
      })
    ),
    max_tool_call_id_length: Type.Optional(
      Type.Integer({
        minimum: 16,
        description:
          'Longest tool-call id; longer ones are replaced. Default: 40 for OpenAI and Azure, else any.'
      })
    ),
    user_after_tool: Type.Optional(
      Type.Boolean({
        description:
          'False when the server refuses a user message right after tool messages: a short message of the ' +
          'assistant goes between them. Default: false for Mistral.'
      })
    ),
    unsigned_thinking: Type.Optional(
      Type.Boolean({
        description:
          'True when a server of kind `anthropic` takes its thinking back without a signature. Default: ' +
          "true at another address than Anthropic's own; false is for proxies in front of Anthropic, " +
          'which refuse it.'
      })
    ),
    tool_images: Type.Optional(
      Type.Boolean({
        description:
          'False when images from tools cannot be shown to its models: the server takes no user message ' +
          'after tool messages.'
      })
    ),
    responses_api: Type.Optional(
      Type.Boolean({
        description:
          'True when the server has `POST /responses`: requests of that dialect are sent on as they are. ' +
          'Default: true for OpenAI and Azure.'
      })
    ),
    base64_embeddings: Type.Optional(
      Type.Boolean({
        description: 'False when the server does not know base64 embeddings; the gateway encodes them.'
      })
    )
  },
  'Deviations from its dialect. Each replaces that of its kind.'
)

const WeightedKey = Closed({
  key: Secret('The key.'),
  weight: Type.Number({
    minimum: 0,
    maximum: 1_000_000,
    default: 1,
    description: 'Its share of the requests; 0: only when the others cool down.'
  })
})
type WeightedKey = Static<typeof WeightedKey>

export const ProviderConfig = Closed(
  {
    kind: Type.Optional(
      OneOf([...providerKinds], {
        description:
          'Kind of provider. Default: the name of the entry if that is a kind, else ' +
          '`openai-compatible`.'
      })
    ),
    enabled: Type.Boolean({ default: true, description: 'False: the entry is ignored.' }),
    base_url: Type.Optional(HttpUrl('Default: the public address of the kind, where it has one.')),
    api_key: Type.Optional(
      Secret(
        'Default: the variable of the provider (`OPENAI_API_KEY`), where it has one. Without any, ' +
          'callers bring their own key.'
      )
    ),
    api_keys: Type.Optional(
      Type.Array(
        Type.Unsafe<SecretReference | WeightedKey>({
          ...WeightedKey,
          type: ['string', 'object'],
          pattern: secretReference,
          patternErrorMessage: notReferenced,
          description: 'A key, or a map with `key` and `weight`.'
        }),
        {
          minItems: 1,
          maxItems: 64,
          description:
            'Several keys instead of `api_key`, or maps of one and its weight. A key that is limited or ' +
            'refused cools ' +
            'down by itself, and the next one is tried before another provider.'
        }
      )
    ),
    headers: Headers('Sent with every request to the provider.'),
    proxy: Type.Optional(
      Type.String({
        pattern: '^(none|https?://[^\\s/?#@]+)$',
        patternErrorMessage: 'must be an http:// or https:// address without user and path, or `none`',
        description:
          'Proxy (HTTP `CONNECT`) to the provider, or `none`. Default: that of `HTTPS_PROXY` or ' +
          '`HTTP_PROXY`, unless `NO_PROXY` names the host.'
      })
    ),
    proxy_credentials: Type.Optional(Secret('User and password for `proxy`, with a colon between them.')),
    tls: Type.Optional(TlsConfig),
    http2: Type.Boolean({
      default: false,
      description:
        'True: requests share connections over HTTP/2. The server must offer it; not through a proxy. ' +
        'Answers in flight break off when the server ends their connection (GOAWAY).'
    }),
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
      description:
        'When the client disconnects: abort the provider request, or read the answer to its end for exact ' +
        'usage.'
    }),
    cache_marks: OneOf(['off', 'auto'], {
      default: 'off',
      description:
        'Of kind `anthropic`: `auto` marks tools, system prompt and conversation for the prompt cache, ' +
        'from the second ' +
        'call of a conversation on and where the caller has marked nothing. Tools are then sent in the ' +
        'order of their names.'
    }),
    propagate: Type.Optional(Propagation),
    max_connections: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_536,
        description:
          'Maximum number of connections to the provider, per process; further requests wait. Default: no ' +
          'limit.'
      })
    ),
    max_waiting_calls: Count(
      1024,
      'With `max_connections`: maximum number of requests that wait, per process, fairly among keys; ' +
      'further ones go to the next model or are refused with 503.'
    ),
    max_waiting_ms: Milliseconds(
      10_000,
      'Maximum time that a request waits; then it goes to the next model or is refused with 503.'
    ),
    quirks: QuirksConfig,
    list_models: Type.Optional(
      Type.Boolean({
        description:
          "Add the provider's own model list to the catalogue. Default: true for servers that run models " +
          'of your choice, false for those whose models the catalogue knows.'
      })
    ),
    options: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      description: 'Options of this kind only: `api_version` of Azure, the pace of the sandbox.'
    })
  },
  { description: 'A provider. Its name is the prefix of its models.' }
)
export type ProviderConfig = Static<typeof ProviderConfig>

/** `server`, `metrics` and `telemetry` of `headgate.yaml`. */

import { Type } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Redact } from './calls.ts'
import { Closed, Count, HttpUrl, Milliseconds, Section, Text, hour } from './entries.ts'
import { Headers } from './secret.ts'

export const ServerConfig = Section(
  {
    host: Type.String({
      minLength: 1,
      pattern: '^[A-Za-z0-9._:%-]*$',
      patternErrorMessage: 'must be an address or a name of this machine',
      default: '127.0.0.1',
      description: 'Address to listen on; `0.0.0.0` for all.'
    }),
    accepted_hosts: Type.Array(
      Type.String({
        pattern: '^(\\*|[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])$',
        patternErrorMessage: 'must be a host name or an address without a port, or `*`'
      }),
      {
        default: [],
        description:
          'Host names that requests may use for this gateway (`Host`), in addition to loopback names; `*` ' +
          'for any. Default: any, but at a loopback address only loopback names.'
      }
    ),
    port: Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: 8080,
      description: 'Port to listen on; 0 for any free one.'
    }),
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
      default: 'info',
      description: 'Lowest level that is logged.'
    }),
    log_format: OneOf(['auto', 'json', 'text'], {
      default: 'auto',
      description: 'A line of JSON, or text for a person; `auto` writes text on a terminal, else JSON.'
    }),
    log_client: Type.Boolean({
      default: true,
      description: 'Log the address of the client with each call, as `client`.'
    }),
    log_key_name: Type.Boolean({
      default: true,
      description: 'Log the name of the key with each call, as `key_name`.'
    }),
    data_dir: Type.String({
      minLength: 1,
      default: '.headgate',
      description: 'Directory of the embedded store, relative to the working directory.'
    }),
    expose_stages: Type.Boolean({
      default: true,
      description: 'Tell callers which guards inspect a call, by `x-headgate-stages`.'
    }),
    public_health: Type.Boolean({ default: false, description: 'Answer `/health` without a key.' }),
    aliases: Type.Boolean({
      default: true,
      description:
        'Serve every endpoint also without `/v1`, under `/openai/…` and `/anthropic/v1/…`, and the health ' +
        'probes under the names that LiteLLM gives them.'
    }),
    litellm_headers: Type.Boolean({
      default: false,
      description:
        'Also send the response headers that LiteLLM sends: `x-litellm-call-id`, `x-litellm-model-id`, ' +
        '`x-litellm-response-cost` and others.'
    }),
    compatibility: OneOf(['none', 'litellm'], {
      default: 'none',
      description:
        '`litellm`: values of `metadata` that are not strings are recorded as JSON and not sent to ' +
        'providers, instead of refused.'
    }),
    public_url: Type.Optional(
      HttpUrl(
        'The address by which people reach the gateway, for links of the dashboard and passkeys. Default: ' +
        'that of their request.'
      )
    ),
    trust_proxy: Type.Boolean({
      default: false,
      description:
        'True: a proxy in front sets `X-Forwarded-For` and `X-Forwarded-Proto`, and terminates TLS. The ' +
        'dashboard relies on them.'
    }),
    tls: Type.Optional(
      Closed(
        {
          certificate: Text(
            'File of the certificate with its chain, PEM, relative to the configuration file.'
          ),
          key: Text('File of its private key, PEM, relative to the configuration file.')
        },
        {
          description:
            'Serves HTTPS. Files that change are used for new connections within seconds. Default: HTTP.'
        }
      )
    ),
    cors_origins: Type.Array(
      Type.String({
        pattern: '^(\\*|https?://[^\\s/?#@]+)$',
        patternErrorMessage: 'must be an origin such as `https://app.example.com`, or `*`'
      }),
      {
        default: [],
        description:
          'Origins of pages that may call the API (CORS), never the admin API; `*` for any. Default: none.'
      }
    ),
    shutdown_delay_ms: Type.Integer({
      minimum: 0,
      maximum: hour,
      default: 500,
      description:
        'How long new connections are still accepted after SIGTERM while `/readyz` says 503, so that a ' +
        'load balancer can notice.'
    }),
    drain_ms: Milliseconds(
      8000,
      'How long open calls may continue after that. With the default, a stop fits the 10 seconds that ' +
      'Docker allows.'
    ),
    worker_timeout_ms: Milliseconds(10_000, 'How long a worker may block before it is killed and replaced.'),
    keep_alive_ms: Milliseconds(65_000, 'Time an idle client connection stays open.'),
    write_timeout_ms: Milliseconds(
      300_000,
      'Longest time a caller may read nothing while part of the answer waits to be sent; then the call ends.'
    ),
    max_client_connections: Count(
      10_000,
      'Maximum number of client connections, per process; further ones are closed at once. Where the ' +
      'system allows few open files, half of these: each call may need a connection to a provider.'
    )
  },
  'The process and where it listens. Changes need a restart, except to `compatibility`, `expose_stages`, ' +
  '`log_client`, `log_key_name`, `log_level`, `public_health`, `public_url` and `trust_proxy`.'
)

export const MetricsConfig = Closed(
  {
    host: Type.String({
      minLength: 1,
      default: '127.0.0.1',
      description: 'Address to listen on. There is no authentication.'
    }),
    port: Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: 9464,
      description: 'Must differ from `server.port`; 0 for any free one.'
    })
  },
  {
    description:
      'Metrics for Prometheus at `GET /metrics`, on a port of their own. Changes need a restart. Default: ' +
      'off; `{}` turns them on.'
  }
)

/** The default address of collectors. */
const defaultOtlpEndpoint = 'http://localhost:4318'

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio'
] as const

const ContentConfig = Closed(
  {
    projects: Type.Array(
      Text('Name or id of a project; `*` stands for all of them, and `default` for the one without a name.'),
      {
        minItems: 1,
        maxItems: 1000,
        default: ['*'],
        description: 'Projects whose spans contain prompts and answers; `*` for all.'
      }
    ),
    max_bytes: Type.Integer({
      minimum: 256,
      maximum: 64 * 1024,
      default: 8192,
      description:
        'Maximum size of the instructions, the messages and the answer in JSON, each; the rest is dropped.'
    }),
    redact: Redact
  },
  {
    description:
      'Sends prompts and answers in spans, as guards left them. Default: off; `{}` turns it on for every ' +
      'project.'
  }
)

const OtlpConfig = Closed(
  {
    endpoint: Type.Unsafe<string>({
      ...HttpUrl('Address of a collector; what is sent goes to `/v1/traces` and the like below it.'),
      default: defaultOtlpEndpoint
    }),
    protocol: OneOf(['http/protobuf', 'http/json'], {
      default: 'http/protobuf',
      description: 'Encoding of requests to the collector.'
    }),
    headers: Headers('Sent with each request, such as `Authorization`.'),
    sampler: OneOf([...samplers], {
      default: 'parentbased_traceidratio',
      description:
        'The OpenTelemetry sampler that decides which calls are sent; `parentbased_…` follows the ' +
        "caller's `traceparent`."
    }),
    sample: Type.Number({
      minimum: 0,
      maximum: 1,
      default: 1,
      description: 'Share of the calls that `traceidratio` sends, from 0 to 1.'
    }),
    traces: Type.Boolean({ default: true, description: 'Sends spans of calls to `/v1/traces`.' }),
    metrics: Type.Boolean({
      default: false,
      description:
        'Sends the metrics that Prometheus could read to `/v1/metrics`; with `headgate start` only.'
    }),
    metrics_interval_ms: Milliseconds(60_000, 'Time between two requests with metrics.'),
    logs: Type.Boolean({
      default: false,
      description: 'Sends the lines of the log to `/v1/logs` as well; with `headgate start` only.'
    }),
    content: Type.Optional(ContentConfig),
    openinference: Type.Boolean({
      default: false,
      description: 'Adds the attributes of OpenInference to spans, for Phoenix, Arize and others.'
    }),
    max_queued_logs: Count(
      8192,
      'Log records that wait for the collector, per process; further ones are dropped and counted.',
      100_000
    ),
    max_queued_spans: Count(
      8192,
      'Spans that wait for the collector, per process; further ones are dropped and counted.',
      100_000
    )
  },
  {
    description:
      'Sends spans, metrics and logs to an OpenTelemetry collector. Changes need a restart. Default: off; ' +
      '`{}` turns it on.'
  }
)

export const TelemetryConfig = Section(
  {
    otlp: Type.Optional(OtlpConfig),
    trace_url: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s/?#@{}]+[/?#][^\\s{}]*\\{trace_id\\}[^\\s{}]*$',
        patternErrorMessage:
          'must be an http:// or https:// address with {trace_id} once, and without a user',
        description:
          'Address of a trace where its spans are shown, with `{trace_id}` in the place of its id: the ' +
          'page of a call in the dashboard links to it.'
      })
    ),
    max_sampled_per_second: Count(
      100,
      "Maximum number of calls per second, per process, that are sent because the caller's `traceparent` " +
      'is sampled; for further calls, `sample` decides.',
      100_000
    )
  },
  'Export of traces, metrics and logs.'
)

/** `mcp_servers` and `tools` of `headgate.yaml`. */

import { Type, type Static } from 'typebox'
import { Bytes, Closed, Count, hour, HttpUrl, Milliseconds, Named, Section, Text } from './entries.ts'
import { Propagation } from './propagation.ts'
import { Headers, Secret } from './secret.ts'

export const ToolServerConfig = Closed(
  {
    url: Type.Optional(HttpUrl('URL of a remote server. Either this or `command`.')),
    headers: Headers('Sent with every request to `url`.'),
    command: Type.Optional(
      Text('A program to run on this machine, looked up in PATH. Either this or `url`.')
    ),
    args: Type.Array(Type.String(), { default: [], description: 'Arguments of `command`.' }),
    env: Named(Secret('Value of this variable.'), 'Environment of `command`.', {
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
      patternErrorMessage: 'is not the name of a variable'
    }),
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: hour,
        description: 'Timeout of one call. Default: `tools.call_ms`.'
      })
    ),
    allowed_tools: Type.Optional(
      Type.Array(Text('A tool.'), {
        description: 'The only tools models may call. Default: all.'
      })
    ),
    propagate: Type.Optional(Propagation),
    shared: Type.Boolean({
      default: false,
      description:
        'True: keys share one session, for servers that keep no state in it. Otherwise each key has its own session, and its own process of a `command`.'
    })
  },
  { description: 'A tool server (MCP): remote, or a command run on this machine.' }
)
export type ToolServerConfig = Static<typeof ToolServerConfig>

export const ToolsConfig = Section(
  {
    connect_ms: Milliseconds(
      5000,
      'Longest time to resolve, connect to and list all tool servers of a call, together.'
    ),
    call_ms: Milliseconds(30_000, 'Longest duration of one tool call.'),
    loop_ms: Milliseconds(300_000, 'Longest duration of all turns of a call, together.'),
    loop_tokens: Count(
      10_000_000,
      'Tokens of all turns of a call, estimated where a provider does not report them; no further turn is started once they are used.',
      1_000_000_000
    ),
    result_bytes: Bytes(256 * 1024, 'Maximum size of one tool result; what exceeds it is cut off.'),
    calls_per_turn: Count(32, 'Maximum number of tool calls in one turn.', 1024),
    max_identical_calls: Count(
      3,
      'How often a tool may be called with the same arguments before the loop stops.',
      1000
    ),
    list_ttl_ms: Milliseconds(300_000, 'Time a tool list is cached.'),
    session_idle_ms: Milliseconds(300_000, 'Time an idle session stays open.'),
    max_sessions: Count(256, 'Maximum number of open sessions.', 65_536),
    allowed_hosts: Type.Array(
      Type.String({
        pattern: '^[A-Za-z0-9.:_-]+(/\\d{1,3})?$',
        patternErrorMessage: 'must be a host, an address or a range (10.0.0.0/8)'
      }),
      {
        default: [],
        description:
          'Hosts or address ranges that URLs in requests may reach although they are not public: tool servers, images and documents.'
      }
    ),
    proxy: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s/?#@]+$',
        patternErrorMessage: 'must be an http:// or https:// address without user and path',
        description:
          'Proxy (HTTP `CONNECT`) to tool servers whose URL is in a request. It gets addresses that were checked, never names. Default: none, also with `HTTPS_PROXY`.'
      })
    ),
    proxy_credentials: Type.Optional(Secret('User and password for `proxy`, with a colon between them.')),
    registry_url: Type.Optional(HttpUrl('Registry for slugs that are not in `mcp_servers`.'))
  },
  'The tool loop.'
)

import t from 'tap'
import { messagesUses } from '../../../lib/dialects/messages/provider-uses.ts'
import type { MessagesRequest } from '../../../schemas/messages-request.ts'

function usesOf (parts: object): string[] {
  const request = {
    model: 'one/m',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'what is a file_id?' }],
    ...parts
  } as MessagesRequest
  return messagesUses({ request }).map(({ kind, param }) => `${kind} ${param}`) // taken as validated
}

const block = (content: object): object => ({ messages: [{ role: 'user', content: [content] }] })

t.test('everything that a request has the provider do is listed, at any place', async t => {
  const document = { type: 'document', source: { type: 'file', file_id: 'file_1' } }
  const rows: ReadonlyArray<readonly [parts: object, ...uses: string[]]> = [
    [{}],
    [{ metadata: { user_id: 'u' } }],
    [{ speed: 'standard', inference_geo: null }],
    [{ tools: [{ name: 't', input_schema: { type: 'object', properties: { file_id: {} } } }] }],
    [block({ type: 'tool_use', id: 'a', name: 't', input: { file_id: 'mine' } })],
    [block(document), 'object messages[0].content[0].source.file_id'],
    [
      block({ type: 'tool_result', tool_use_id: 'a', content: [document] }),
      'object messages[0].content[0].content[0].source.file_id'
    ],
    [block({ type: 'container_upload', file_id: 'file_1' }), 'object messages[0].content[0].file_id'],
    [{ container: 'c1' }, 'object container'],
    [
      { container: { skills: [{ type: 'custom', skill_id: 's' }] } },
      'object container',
      'object container.skills[0].skill_id'
    ],
    [{ thread: { type: 'create' } }, 'object thread'],
    [{ mcp_servers: [] }],
    [{ mcp_servers: [{ type: 'url', url: 'https://a.example' }] }, 'tool_server mcp_servers'],
    [{ tools: [{ type: 'mcp_toolset', mcp_server_name: 'a' }] }, 'tool_server tools[0]'],
    [{ fallbacks: [{ model: 'b' }] }, 'model fallbacks[0].model'],
    [{ fallbacks: ['b'] }, 'router_field fallbacks'],
    [{ models: ['b'] }, 'router_field models'],
    [{ tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'b' }] }, 'model tools[0].model'],
    [{ speed: 'fast', inference_geo: 'us' }, 'unpriced speed', 'unpriced inference_geo'],
    [{ tools: [{ type: 'code_execution_20250825', name: 'code' }] }, 'unpriced tools[0]'],
    [
      {
        tools: [
          { type: 'web_search_20250305', name: 'web_search' },
          { type: 'bash_20250124', name: 'bash' }
        ]
      }
    ],
    [{ tools: [{ type: 'teleport_20270101', name: 't' }] }, 'unknown_tool tools[0]'],
    [
      {
        tools: [
          { type: 'tool_search_tool_regex', name: 's' },
          { type: 'browser_toolset_20260801', name: 'b' }
        ]
      }
    ],
    [
      {
        output_config: {
          format: { type: 'json_schema', schema: { properties: { order_id: { type: 'string' } } } }
        }
      }
    ],
    [
      {
        tools: [
          {
            name: 't',
            input_schema: { type: 'object' },
            input_examples: [{ customer_id: 'c1', model: 'x' }]
          }
        ]
      }
    ],
    [{ diagnostics: { previous_message_id: 'msg_1' } }],
    [
      block({
        type: 'tool_addition',
        tool: { type: 'tool_definition', definition: { type: 'code_execution_20260120', name: 'c' } }
      }),
      'unpriced messages[0].content[0].tool.definition'
    ]
  ]
  for (const [parts, ...uses] of rows) t.same(usesOf(parts), uses, JSON.stringify(parts))
})

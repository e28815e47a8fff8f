import t from 'tap'
import { forbidsTools, namedToolChoice, relaxToolChoice } from '../../lib/chat/tool-choice.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ToolChoice } from '../../schemas/tools.ts'

const request = (parts: object): ChatInput => ({ model: 'm', messages: [], ...parts })

t.test('`none` forbids tool calls, in either spelling', async t => {
  t.same(
    [
      { tool_choice: 'none' },
      { tool_choice: { type: 'none' } },
      { tool_choice: 'auto' },
      { tool_choice: { server_label: 's', name: 'f' } },
      {}
    ].map(parts => forbidsTools(request(parts))),
    [true, true, false, false, false]
  )
})

t.test('a tool choice uses the name under which the tool was offered', async t => {
  const offered = {
    of: (tool: string, server?: string): string | undefined =>
      tool === 'add' ? `${server ?? 'any'}__add` : undefined,
    all: (server: string): string[] => (server === 's' ? ['s__add', 's__sub'] : [])
  }
  const allowing = (...tools: unknown[]): unknown => ({
    type: 'allowed_tools',
    allowed_tools: { mode: 'required', tools }
  })
  const named = (name: string): unknown => ({ type: 'function', function: { name } })
  const rows: Array<[unknown, unknown]> = [
    ['auto', 'auto'],
    [
      { server_label: 's', name: 'add' },
      { type: 'function', function: { name: 's__add' } }
    ],
    [
      { server_label: 's', name: 'sub' },
      { type: 'function', function: { name: 'sub' } }
    ],
    [
      { type: 'function', function: { name: 'add' } },
      { type: 'function', function: { name: 'any__add' } }
    ],
    [
      { type: 'function', function: { name: 'own' } },
      { type: 'function', function: { name: 'own' } }
    ],
    [
      { type: 'tool', name: 'add', disable_parallel_tool_use: true },
      { type: 'tool', name: 'any__add', disable_parallel_tool_use: true }
    ],
    [{ type: 'any' }, { type: 'any' }],
    [
      allowing(named('own'), { type: 'mcp', server_label: 's' }),
      allowing(named('own'), named('s__add'), named('s__sub'))
    ],
    [
      allowing(
        { type: 'mcp', server_label: 's', name: 'add' },
        { type: 'mcp', server_label: 's', name: 'gone' }
      ),
      allowing(named('s__add'))
    ],
    [allowing({ type: 'mcp', server_label: 'other' }), 'none']
  ]
  for (const [choice, expected] of rows) {
    t.strictSame(namedToolChoice(choice as ToolChoice, offered), expected, JSON.stringify(choice))
  }
})

t.test('after the first turn no call is forced', async t => {
  const rows: Array<[object, object]> = [
    [{}, {}],
    [{ tool_choice: 'required' }, { tool_choice: 'auto' }],
    [{ tool_choice: 'none' }, { tool_choice: 'none' }],
    [{ tool_choice: { type: 'function', function: { name: 'f' } } }, { tool_choice: 'auto' }],
    [{ tool_choice: { server_label: 's', name: 'f' } }, { tool_choice: 'auto' }],
    [
      { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [1] } } },
      { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [1] } } }
    ],
    [
      { tool_choice: { type: 'any', disable_parallel_tool_use: true } },
      { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }
    ],
    [{ tool_choice: { type: 'tool', name: 'f' } }, { tool_choice: { type: 'auto' } }],
    [{ tool_choice: { type: 'none' } }, { tool_choice: { type: 'none' } }],
    [{ function_call: { name: 'f' } }, { function_call: 'auto' }],
    [{ function_call: 'none' }, {}],
    [
      { tool_config: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] }, other: 1 } },
      { tool_config: { functionCallingConfig: { mode: 'AUTO' }, other: 1 } }
    ],
    [
      { tool_config: { function_calling_config: { mode: 'NONE' } } },
      { tool_config: { function_calling_config: { mode: 'NONE' } } }
    ]
  ]
  for (const [given, expected] of rows) {
    t.strictSame(relaxToolChoice(request(given)), expected, JSON.stringify(given))
  }
})

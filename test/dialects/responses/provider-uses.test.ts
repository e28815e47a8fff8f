import t from 'tap'
import { responsesUses } from '../../../lib/dialects/responses/provider-uses.ts'
import type { StoredInput } from '../../../lib/dialects/responses/stored-input.ts'
import type { ResponsesRequest } from '../../../schemas/responses.ts'

function usesOf (parts: object, items: StoredInput['items'] = new Map(), earlier?: object[]): string[] {
  const request = { model: 'mine', input: 'hi', ...parts } as ResponsesRequest // taken as validated
  const stored = { items, ...earlier !== undefined && { continuation: { items: earlier } as never } }
  return responsesUses({ request, stored }).map(({ kind, param }) => `${kind} ${param}`)
}

t.test('tools are classified by type, wherever they are listed', async t => {
  const rows: ReadonlyArray<readonly [tool: object, ...uses: string[]]> = [
    [{ type: 'function', name: 'f', parameters: { properties: { file_id: { type: 'string' } } } }],
    [{ type: 'web_search' }], [{ type: 'web_search_preview_2025_03_11' }], [{ type: 'local_shell' }],
    [{ type: 'shell', environment: { type: 'local' } }],
    [{ type: 'shell', environment: { type: 'container_auto' } }, 'unpriced tools[0]'],
    [{ type: 'code_interpreter', container: { type: 'auto' } }, 'unpriced tools[0]'],
    [{ type: 'image_generation', model: 'gpt-image-1' }, 'unpriced tools[0]', 'model tools[0].model'],
    [{ type: 'image_generation' }, 'unpriced tools[0]', 'default_model tools[0]'],
    [{ type: 'teleport' }, 'unknown_tool tools[0]']
  ]
  for (const [tool, ...uses] of rows) {
    const title = JSON.stringify(tool)
    t.same(usesOf({ tools: [tool] }).toSorted(), uses.toSorted(), title)
    const inItem = uses.map(use => use.replace(' ', ' input[0].')).toSorted()
    for (const type of ['additional_tools', 'tool_search_output']) {
      t.same(usesOf({ input: [{ type, tools: [tool] }] }).toSorted(), inItem, `${title} in ${type}`)
    }
  }
})

t.test('objects in the account are found under any field name', async t => {
  const rows: ReadonlyArray<readonly [parts: object, ...uses: string[]]> = [
    [{ conversation: 'conv_1' }, 'object conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'object prompt'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] }] },
      'object input[0].content[0].file_id'
    ],
    [
      {
        input: [
          { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_file', file_id: 'file-1' }] }
        ]
      },
      'object input[0].output[0].file_id'
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'gs://bucket/a.png' }] }] },
      'address input[0].content[0].image_url'
    ],
    [
      { input: [{ type: 'computer_call_output', call_id: 'c', output: { image_url: 'https://a.test/b' } }] },
      'address input[0].output.image_url'
    ],
    [
      { input: [{ type: 'of_the_future', parts: [{ file_url: '//a.test/b' }, { file_data: 'gs://b' }] }] },
      'address input[0].parts[0].file_url',
      'address input[0].parts[1].file_data'
    ],
    [
      { input: [{ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: null }] },
      'object input[0].id'
    ],
    [
      {
        input: [
          {
            type: 'image_generation_call',
            id: 'ig_1',
            action: 'edit',
            size: '1024x1024',
            revised_prompt: 'a'
          }
        ]
      },
      'object input[0].id'
    ],
    [{ input: [{ type: 'file_search_call', id: 'fs_1', queries: [] }] }, 'object input[0].id'],
    [{ input: [{ type: 'new_call', id: 'n_1', extra: 'a' }] }, 'object input[0].id'],
    [{ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'object tools[0].vector_store_ids'],
    [{ tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }, 'object tools[0].container'],
    [
      { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file-1'] } }] },
      'object tools[0].container.file_ids'
    ],
    [
      {
        tools: [
          {
            type: 'shell',
            environment: { type: 'container_auto', skills: [{ type: 'skill_reference', skill_id: 's' }] }
          }
        ]
      },
      'object tools[0].environment.skills[0].skill_id'
    ],
    [
      { tools: [{ type: 'image_generation', input_image_mask: { file_id: 'file-1' } }] },
      'object tools[0].input_image_mask.file_id'
    ],
    [
      { models: ['b'], provider: { order: ['x'] }, plugins: [{ id: 'web' }], fallbacks: null },
      'router_field models',
      'router_field provider',
      'router_field plugins'
    ]
  ]
  for (const [parts, ...uses] of rows) for (const use of uses) t.ok(usesOf(parts).includes(use), use)
  // Sent by Codex like this.
  const agent = { client_metadata: { turn_id: 'a', thread_id: 'b', session_id: 'c' } }
  t.same(usesOf({ metadata: { file_id: 'mine' }, previous_response_id: 'resp_1', ...agent }), [])
  const inline = ['data:image/png;base64,iVBO', 'iVBO'].map(data => ({ image_url: data, file_data: data }))
  t.same(usesOf({ input: [{ role: 'user', content: inline }] }), [])
  const listed = [{ name: 'get', input_schema: { properties: { page_id: { type: 'string' } } } }]
  t.same(
    usesOf({
      input: [
        { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'a', tools: listed },
        { type: 'tool_search_output', id: 'ts_1', tools: [] },
        { role: 'user', content: 'hi', internal_chat_message_metadata_passthrough: { turn_id: 'a' } }
      ],
      tools: [
        { type: 'function', name: 'f', output_schema: { properties: { order_id: { type: 'string' } } } }
      ]
    }),
    []
  )
})

t.test('items with their content may have an id', async t => {
  for (const item of [
    { type: 'message', id: 'msg_1', role: 'assistant', content: '' },
    { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '' },
    { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'a', tools: [] },
    { type: 'reasoning', id: 'rs_1', summary: [] },
    { type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'a' } },
    { type: 'image_generation_call', id: 'ig_1', result: 'iVBORw0KGgo=' }
  ]) {
    t.same(usesOf({ input: [item] }), [], item.type)
  }
})

t.test('a stored item may be referenced by its id alone', async t => {
  const input = [{ type: 'image_generation_call', id: 'ig_1' }]
  t.same(usesOf({ input }), ['object input[0].id'])
  t.same(usesOf({ input }, new Map([['ig_1', { item: input[0] as never }]])), [])
})

t.test('tools that stored items add are listed, and nothing else of these items', async t => {
  const tools = [
    { type: 'file_search', vector_store_ids: ['vs_1'] },
    { type: 'image_generation', model: 'b' },
    { type: 'web_search' }
  ]
  const uses = ['unpriced', 'unpriced', 'object', 'model']
  const items = [
    { type: 'additional_tools', id: 'at_1', tools },
    { type: 'code_interpreter_call', id: 'ci_1', container_id: 'cntr_1' }
  ]
  t.same(usesOf({}, new Map(), items), uses.map(kind => `${kind} previous_response_id`))
  const input = [{ type: 'item_reference', id: 'at_1' }]
  const referenced = new Map([['at_1', { item: items[0] as never }]])
  t.same(usesOf({ input }, referenced), uses.map(kind => `${kind} input`))
})

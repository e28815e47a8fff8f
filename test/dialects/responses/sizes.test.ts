import t from 'tap'
import { responsesSizes } from '../../../lib/dialects/responses/sizes.ts'
import { responsesCall } from '../../support/responses.ts'
import type { InputItem } from '../../../schemas/response-items.ts'
import type { ResponsesRequest } from '../../../schemas/responses.ts'

const check = responsesSizes({ chatMessages: 2, chatParts: 3, chatTools: 2 })
const text = { type: 'input_text', text: 'a' } as const
const tool = { type: 'function', name: 'a' } as const
const foundTools = { type: 'tool_search_output', tools: [tool, tool, tool] } as InputItem // an open item

function checked (request: Partial<ResponsesRequest>) {
  const complete = { model: 'a/b', input: 'x', ...request } // no earlier stage is needed
  return () => check({ ...responsesCall({}), request: complete })
}

t.test('each list has a limit, and the error names the list', async t => {
  const within = checked({
    input: [
      { role: 'user', content: [text, text] },
      { role: 'user', content: [text] }
    ],
    tools: [tool, tool]
  })
  t.doesNotThrow(within)
  const rows: Array<readonly [Partial<ResponsesRequest>, Array<string | number>]> = [
    [{ input: [1, 2, 3].map(() => ({ role: 'user', content: 'a' })) }, ['body', 'input']],
    [
      {
        input: [
          { role: 'user', content: [text, text] },
          { role: 'user', content: [text, text] }
        ]
      },
      ['body', 'input', 1, 'content']
    ],
    [
      { input: [{ type: 'function_call_output', call_id: 'c', output: [text, text, text, text] }] },
      ['body', 'input', 0, 'output']
    ],
    [{ tools: [tool, tool, tool] }, ['body', 'tools']],
    [{ tools: [{ type: 'namespace', name: 'n', tools: [tool, tool] }] }, ['body', 'tools']],
    [{ input: [{ type: 'additional_tools', tools: [tool, tool, tool] }] }, ['body', 'input', 0, 'tools']],
    [{ input: [foundTools] }, ['body', 'input', 0, 'tools']]
  ]
  for (const [request, loc] of rows) {
    try {
      checked(request)()
      t.fail(`${loc.join('.')} is let through`)
    } catch (error) {
      t.match(error, { detail: [{ loc, type: 'too_long' }] })
    }
  }
})

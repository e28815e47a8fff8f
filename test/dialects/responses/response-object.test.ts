import t from 'tap'
import { responseUsage, startedResponse } from '../../../lib/dialects/responses/response-object.ts'
import { responsesStart } from '../../support/responses.ts'

t.test('every field is present from the start, with the requested or default value', async t => {
  t.match(startedResponse(responsesStart({})), {
    object: 'response',
    status: 'in_progress',
    error: null,
    output: [],
    usage: null,
    store: false,
    background: false,
    temperature: 1,
    top_p: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    truncation: 'disabled',
    metadata: {},
    completed_at: null
  })
  t.match(
    startedResponse(
      responsesStart({
        temperature: 0.5,
        reasoning: { effort: 'low' },
        metadata: { a: 'b' },
        instructions: 'Help.'
      })
    ),
    {
      temperature: 0.5,
      reasoning: { effort: 'low', summary: null },
      metadata: { a: 'b' },
      instructions: 'Help.'
    }
  )
})

t.test('OpenAI-only options are repeated if the request has them', async t => {
  const { reasoning, prompt_cache_retention: retention } = startedResponse(
    responsesStart({ reasoning: { context: 'all_turns', mode: 'pro' }, prompt_cache_retention: '24h' })
  )
  t.strictSame(reasoning, { effort: null, summary: null, context: 'all_turns', mode: 'pro' })
  t.equal(retention, '24h')
  const none = startedResponse(responsesStart({ reasoning: { context: null } }))
  t.strictSame(none.reasoning, { effort: null, summary: null })
  t.notOk('prompt_cache_retention' in none)
})

t.test('tools are shown without credentials', async t => {
  const { tools } = startedResponse(
    responsesStart({
      tools: [
        {
          type: 'mcp',
          server_label: 'mine',
          server_url: 'https://a.example',
          authorization: 'secret',
          headers: { x: 'secret' },
          require_approval: 'never'
        },
        { type: 'function', name: 'look' }
      ]
    })
  )
  t.strictSame(tools, [
    { type: 'mcp', server_label: 'mine', server_url: 'https://a.example', require_approval: 'never' },
    { type: 'function', name: 'look', parameters: null, strict: null }
  ])
})

t.test('usage has every count', async t => {
  t.strictSame(responseUsage({ promptTokens: 3, completionTokens: 2, totalTokens: 5 }), {
    input_tokens: 3,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 2,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 5
  })
})

import t from 'tap'
import { openInference } from '../../lib/telemetry/open-inference.ts'
import type { Attributes, CallSpan } from '../../lib/telemetry/call-spans.ts'
import type { Content } from '../../lib/telemetry/span-content.ts'

const present = (attributes: Attributes): object => JSON.parse(JSON.stringify(attributes)) as object
const spanOf = (kind: CallSpan['kind'], attributes: Attributes): Pick<CallSpan, 'kind' | 'attributes'> => ({
  kind,
  attributes
})

t.test('a model request has its names, tokens and cost', async t => {
  t.strictSame(
    present(
      openInference(
        spanOf('client', {
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': 'anthropic',
          'gen_ai.request.model': 'a',
          'gen_ai.conversation.id': 's',
          'gen_ai.usage.input_tokens': 9,
          'gen_ai.usage.output_tokens': 4,
          'gen_ai.usage.cache_read.input_tokens': 5,
          'gen_ai.usage.cache_write.input_tokens': 2,
          'gen_ai.usage.reasoning.output_tokens': 1,
          'gen_ai.usage.cost': 0.5
        })
      )
    ),
    {
      'openinference.span.kind': 'LLM',
      'session.id': 's',
      'llm.model_name': 'a',
      'llm.system': 'anthropic',
      'llm.provider': 'anthropic',
      'llm.token_count.prompt': 9,
      'llm.token_count.completion': 4,
      'llm.token_count.prompt_details.cache_read': 5,
      'llm.token_count.prompt_details.cache_write': 2,
      'llm.token_count.completion_details.reasoning': 1,
      'llm.cost.total': 0.5
    }
  )
  t.match(
    present(
      openInference(spanOf('client', { 'gen_ai.operation.name': 'embeddings', 'gen_ai.request.model': 'e' }))
    ),
    { 'openinference.span.kind': 'EMBEDDING', 'embedding.model_name': 'e' }
  )
})

t.test('calls, tools, tool lists and guards have their kinds', async t => {
  t.strictSame(
    present(openInference(spanOf('server', { 'headgate.tags': ['a'], 'headgate.metadata': '{"run":"1"}' }))),
    { 'openinference.span.kind': 'CHAIN', 'tag.tags': ['a'], metadata: '{"run":"1"}' }
  )
  t.strictSame(
    present(
      openInference(
        spanOf('client', { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'echo' })
      )
    ),
    { 'openinference.span.kind': 'TOOL', 'tool.name': 'echo' }
  )
  t.strictSame(present(openInference(spanOf('client', { 'mcp.method.name': 'tools/list' }))), {
    'openinference.span.kind': 'CHAIN'
  })
  t.strictSame(present(openInference(spanOf('internal', {}))), { 'openinference.span.kind': 'GUARDRAIL' })
})

t.test('messages are flattened, with their tool calls and results', async t => {
  const content: Content = {
    system: [{ type: 'text', content: 'be brief' }],
    input: [
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'hm' },
          { type: 'tool_call', id: 'c1', name: 'f', arguments: { a: 1 } }
        ]
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'done' }] }
    ],
    output: [
      {
        role: 'assistant',
        parts: [
          { type: 'text', content: 'a' },
          { type: 'text', content: 'b' }
        ],
        finish_reason: 'stop'
      }
    ],
    isTruncated: false
  }
  const {
    'input.value': input,
    'output.value': output,
    ...flat
  } = present(openInference(spanOf('server', {}), content)) as Record<string, string>
  t.strictSame(JSON.parse(input ?? ''), [{ role: 'system', parts: content.system }, ...content.input])
  t.strictSame(JSON.parse(output ?? ''), content.output)
  t.strictSame(flat, {
    'openinference.span.kind': 'CHAIN',
    'input.mime_type': 'application/json',
    'output.mime_type': 'application/json',
    'llm.input_messages.0.message.role': 'system',
    'llm.input_messages.0.message.content': 'be brief',
    'llm.input_messages.1.message.role': 'assistant',
    'llm.input_messages.1.message.tool_calls.0.tool_call.id': 'c1',
    'llm.input_messages.1.message.tool_calls.0.tool_call.function.name': 'f',
    'llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments': '{"a":1}',
    'llm.input_messages.2.message.role': 'tool',
    'llm.input_messages.2.message.content': 'done',
    'llm.input_messages.2.message.tool_call_id': 'c1',
    'llm.output_messages.0.message.role': 'assistant',
    'llm.output_messages.0.message.content': 'a\nb'
  })
})

t.test(
  'only some messages of a long conversation are flattened, and none of a call without texts',
  async t => {
    const input = Array.from({ length: 1000 }, () => ({
      role: 'user',
      parts: [{ type: 'text', content: 'hi' }]
    }))
    const attributes = openInference(spanOf('server', {}), {
      system: [],
      input,
      output: [],
      isTruncated: false
    })
    t.equal(Object.keys(attributes).filter(name => name.startsWith('llm.input_messages.')).length, 500)
    t.same(
      Object.keys(
        present(
          openInference(spanOf('server', {}), { system: [], input: [], output: [], isTruncated: true })
        )
      ),
      ['openinference.span.kind']
    )
  }
)

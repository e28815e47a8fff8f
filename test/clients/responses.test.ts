/**
 * The official clients of the Responses API, unmodified, against a gateway on a real port with several
 * providers.
 */

import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents'
import { LLMock } from '@copilotkit/aimock'
import OpenAI from 'openai'
import t from 'tap'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import {
  functions,
  question,
  resultOf,
  sandbox,
  testConversations,
  type WeatherConversation
} from '../support/weather-conversation.ts'
import type { Test } from 'tap'

const model = 'sandbox/echo'
const tools = functions.map(definition => ({ type: 'function' as const, strict: false, ...definition }))

function clientOf (api: TestGateway): OpenAI {
  return new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 })
}

t.test('openai: a response, complete and streamed', async t => {
  const client = clientOf(await testGateway(t, { providers: [sandbox] }))
  const request = { model, input: 'hello there', instructions: 'Be brief.' }
  const complete = await client.responses.create(request)
  t.match(complete, {
    object: 'response',
    status: 'completed',
    model,
    output_text: /hello there/,
    usage: { output_tokens: Number }
  })
  t.ok(complete._request_id)
  const seen: string[] = []
  let text = ''
  for await (const event of await client.responses.create({ ...request, stream: true })) {
    if (seen.at(-1) !== event.type) seen.push(event.type)
    if (event.type === 'response.output_text.delta') text += event.delta
  }
  t.same(seen, [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed'
  ])
  t.equal(text, complete.output_text)
  t.equal((await client.responses.stream(request).finalResponse()).output_text, complete.output_text)
})

t.test('openai: structured output is parsed', async t => {
  const mock = new LLMock({ port: 0 })
  mock.onMessage('Who?', { content: '{"name":"Ada","age":36}' })
  await mock.start()
  t.teardown(async () => await mock.stop())
  const client = clientOf(await testGateway(t, { providers: [sandbox, upstreamAt(`${mock.url}/v1`)] }))
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false
  }
  for (const name of [model, 'openai/gpt-5']) {
    const request = {
      model: name,
      input: 'Who?',
      text: { format: { type: 'json_schema' as const, name: 'person', strict: true, schema } }
    }
    t.match((await client.responses.parse(request)).output_parsed, { name: String, age: Number })
    const streamed = await client.responses.stream(request).finalResponse()
    t.match(
      JSON.parse(streamed.output_text),
      { name: String, age: Number },
      'its streams are parsed only for Zod schemas'
    )
  }
  t.same(mock.getRequests().map(({ path }) => path), ['/v1/responses', '/v1/responses'])
})

t.test('openai: errors have the classes and the fields of the client', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  const client = clientOf(api)
  const ask = async (input: string, more: object = {}): Promise<unknown> =>
    await client.responses.create({ model, input, ...more }).catch((error: unknown) => error)
  const rows: ReadonlyArray<readonly [unknown, abstract new (...given: never[]) => Error, object]> = [
    [
      await ask('hi', { model: 'sandbox/none' }),
      OpenAI.NotFoundError,
      { status: 404, code: 'model_not_found', param: 'model' }
    ],
    [await ask('hi', { temperature: 9 }), OpenAI.BadRequestError, { status: 400, param: 'temperature' }],
    [
      await ask('hi', { input: [{ type: 'item_reference', id: 'rs_unknown' }] }),
      OpenAI.BadRequestError,
      { status: 400, message: /Item with id 'rs_unknown' not found/ }
    ],
    [
      await ask('hi', { tool_choice: { type: 'web_search' }, tools: [{ type: 'web_search' }] }),
      OpenAI.BadRequestError,
      { status: 400, param: 'tool_choice' }
    ],
    [
      await ask('[sandbox: status=429 retry-after=7]'),
      OpenAI.RateLimitError,
      { status: 429, code: 'rate_limit_exceeded' }
    ],
    [await ask('[sandbox: status=500]'), OpenAI.InternalServerError, { status: 502 }],
    [
      await new OpenAI({ baseURL: `${api.url}/v1`, apiKey: 'wrong', maxRetries: 0 }).responses
        .create({ model, input: 'hi' })
        .catch((error: unknown) => error),
      OpenAI.AuthenticationError,
      { status: 401, code: 'invalid_api_key' }
    ]
  ]
  for (const [error, expected, fields] of rows) {
    t.ok(error instanceof expected, `${expected.name}: ${String(error)}`)
    t.match(error, fields)
  }
  const types: string[] = []
  for await (const { type } of await client.responses.create({
    model,
    input: 'one two three four [sandbox: error after=2]',
    stream: true
  })) {
    types.push(type)
  }
  t.equal(types.at(-1), 'response.failed', 'a failing stream reports it in its last event')
})

/** Runs a conversation of three turns, and returns the number of calls in each. */
async function converse (
  t: Test,
  ask: (input: OpenAI.Responses.ResponseInput) => Promise<OpenAI.Responses.Response>
): Promise<number[]> {
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: question }]
  const seen: number[] = []
  for (let turn = 0; turn < 4; turn++) {
    const { output, output_text: text, status } = await ask(input)
    const calls = output.filter(item => item.type === 'function_call')
    seen.push(calls.length)
    t.equal(status, 'completed')
    if (turn === 0) t.match(output[0], { type: 'reasoning', summary: [{ type: 'summary_text', text: /\w/ }] })
    if (calls.length === 0) {
      t.match(text, /\w/)
      break
    }
    for (const call of calls) t.match(JSON.parse(call.arguments), { city: String })
    // Items are sent back as the gateway returned them.
    input.push(
      ...(output as OpenAI.Responses.ResponseInputItem[]),
      ...calls.map(({ call_id: id, name }) => ({
        type: 'function_call_output' as const,
        call_id: id,
        output: resultOf(name)
      }))
    )
  }
  return seen
}

/**
 * Runs the conversation with the Agents SDK, which calls the functions itself, and returns the number of
 * calls in each turn.
 */
async function runAgent (t: Test, { api, model }: WeatherConversation, stream: boolean): Promise<number[]> {
  const called: string[] = []
  const agent = new Agent({
    name: 'Weather',
    instructions: 'Be brief.',
    model,
    tools: functions.map(({ name, description, parameters }) => tool({
      name,
      description,
      parameters: { ...parameters, additionalProperties: false as const },
      strict: true,
      execute: async () => { called.push(name); return resultOf(name) }
    }))
  })
  const result = stream
    ? await runnerOf(api).run(agent, question, { stream })
    : await runnerOf(api).run(agent, question)
  if ('completed' in result) await result.completed
  t.match(result.finalOutput, /\w/)
  const counts = result.rawResponses.map(
    ({ output }) => output.filter(({ type }) => type === 'function_call').length
  )
  t.equal(
    called.length,
    counts.reduce((sum, calls) => sum + calls)
  )
  return counts
}

function runnerOf ({ url }: TestGateway): Runner {
  return new Runner({
    modelProvider: new OpenAIProvider({ baseURL: `${url}/v1`, apiKey: testKey, useResponses: true }),
    tracingDisabled: true
  })
}

async function converseInEveryWay (t: Test, conversation: WeatherConversation): Promise<void> {
  const { api, model, calls } = conversation
  const client = clientOf(api)
  const common = { model, tools, reasoning: { effort: 'low', summary: 'auto' } as const }
  t.same(
    await converse(t, async input => await client.responses.create({ ...common, input })),
    calls,
    'openai, complete'
  )
  t.same(
    await converse(t, async input => await client.responses.stream({ ...common, input }).finalResponse()),
    calls,
    'openai, streamed'
  )
  t.same(await runAgent(t, conversation, false), calls, 'agents, complete')
  t.same(await runAgent(t, conversation, true), calls, 'agents, streamed')
}

testConversations(converseInEveryWay, 12)

t.test('agents: a handoff, and structured output', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  const runner = runnerOf(api)
  const clerk = new Agent({ name: 'Clerk', instructions: 'Be brief.', model })
  const triage = Agent.create({ name: 'Triage', instructions: 'Hand over.', model, handoffs: [clerk] })
  const handed = await runner.run(triage, 'use transfer_to_Clerk with {}')
  t.equal(handed.lastAgent?.name, 'Clerk')
  const schema = {
    type: 'object' as const,
    properties: { city: { type: 'string' as const } },
    required: ['city'],
    additionalProperties: false as const
  }
  const typed = new Agent({
    name: 'Typed',
    instructions: 'Be brief.',
    model,
    outputType: { type: 'json_schema', name: 'place', strict: true, schema }
  })
  t.match((await runner.run(typed, 'Where?')).finalOutput, { city: String })
})

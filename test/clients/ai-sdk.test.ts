/**
 * The AI SDK, unmodified, with its providers for OpenAI and Anthropic, against a gateway on a real port with
 * several providers.
 */

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import {
  APICallError,
  generateText,
  jsonSchema,
  Output,
  stepCountIs,
  streamText,
  tool,
  type LanguageModel,
  type ToolSet
} from 'ai'
import t from 'tap'
import { testGateway, testKey, type TestGateway } from '../support/gateway.ts'
import {
  functions,
  question,
  resultOf,
  sandbox,
  strictNames,
  strictWeatherGateway,
  testConversations,
  weatherGateway,
  type WeatherConversation
} from '../support/weather-conversation.ts'
import type { Test } from 'tap'

Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false)

/**
 * Returns a model in each dialect. The one for responses refers to stored items instead of repeating
 * reasoning.
 */
function modelsOf ({ url }: TestGateway, model: string): Readonly<Record<string, LanguageModel>> {
  const options = { baseURL: `${url}/v1`, apiKey: testKey }
  const openai = createOpenAI(options)
  return { chat: openai.chat(model), responses: openai(model), messages: createAnthropic(options)(model) }
}

const common = {
  maxRetries: 0,
  maxOutputTokens: 4000,
  providerOptions: {
    openai: { reasoningSummary: 'auto', forceReasoning: true },
    anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } }
  }
}

const tools: ToolSet = Object.fromEntries(functions.map(({ name, description, parameters }) => [
  name, tool({ description, inputSchema: jsonSchema(parameters), execute: async () => resultOf(name) })
]))

/** Runs the conversation in each dialect, complete and streamed. */
async function converseInEveryWay (t: Test, { api, model, calls }: WeatherConversation): Promise<void> {
  const count = (steps: ReadonlyArray<{ readonly toolCalls: readonly unknown[] }>): number[] =>
    steps.map(({ toolCalls }) => toolCalls.length)
  for (const [dialect, languageModel] of Object.entries(modelsOf(api, model))) {
    const ask = { ...common, model: languageModel, prompt: question, tools, stopWhen: stepCountIs(5) }
    const complete = await generateText(ask)
    t.same(count(complete.steps), calls, `${dialect}, complete`)
    t.match(complete.text, /\w/)
    const streamed = streamText({ ...ask, onError: () => undefined })
    let text = ''
    for await (const part of streamed.fullStream) {
      if (part.type === 'error') throw part.error
      if (part.type === 'text-delta') text += part.text
    }
    t.same(count(await streamed.steps), calls, `${dialect}, streamed`)
    t.equal(text, complete.text)
    // Its chat completions client does not read reasoning.
    if (dialect !== 'chat') {
      for (const steps of [complete.steps, await streamed.steps]) {
        t.match(steps[0]?.reasoningText, /\w/, `${dialect}: the thinking is shown`)
      }
    }
  }
}

testConversations(converseInEveryWay)

// Its chat completions client keeps no signatures.
for (const name of strictNames) {
  t.test(`thinking is sent back with its signatures, or this provider refuses: ${name}`, async t => {
    const { api, model, calls } = await strictWeatherGateway(t, name)
    const { chat: _, ...models } = modelsOf(api, model)
    for (const [dialect, languageModel] of Object.entries(models)) {
      const { steps } = await generateText({
        ...common,
        model: languageModel,
        prompt: question,
        tools,
        stopWhen: stepCountIs(5)
      })
      t.same(
        steps.map(({ toolCalls }) => toolCalls.length),
        calls,
        dialect
      )
    }
  })
}

t.test('three turns of responses with `store: false`', async t => {
  for (const name of ['anthropic', 'sandbox']) {
    const { api, model, calls } =
      name === 'anthropic' ? await strictWeatherGateway(t, name) : await weatherGateway(t, name)
    const { steps } = await generateText({
      ...common,
      model: modelsOf(api, model)['responses'] ?? '',
      prompt: question,
      tools,
      stopWhen: stepCountIs(5),
      providerOptions: { openai: { ...common.providerOptions.openai, store: false } }
    })
    t.same(steps.map(({ toolCalls }) => toolCalls.length), calls, name)
  }
})

t.test('structured output, in each dialect', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  const schema = jsonSchema<{ name: string, age: number }>({
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false
  })
  for (const [dialect, model] of Object.entries(modelsOf(api, 'sandbox/echo'))) {
    const { output } = await generateText({
      model,
      maxRetries: 0,
      maxOutputTokens: 500,
      prompt: 'Who?',
      output: Output.object({ schema })
    })
    t.match(output, { name: String, age: Number }, dialect)
  }
})

t.test('errors are reported before the answer and in the middle of it', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  for (const [dialect, model] of Object.entries(modelsOf(api, 'sandbox/echo'))) {
    const ask = { model, maxRetries: 0, maxOutputTokens: 500 }
    const limited: unknown = await generateText({
      ...ask,
      prompt: '[sandbox: status=429 retry-after=7]'
    }).catch((error: unknown) => error)
    t.ok(APICallError.isInstance(limited), dialect)
    t.match(limited, { statusCode: 429, isRetryable: true, message: /\w/ }, dialect)
    const missing: unknown = await generateText({
      ...ask,
      model: modelsOf(api, 'sandbox/none')[dialect] ?? model,
      prompt: 'x'
    }).catch((error: unknown) => error)
    t.match(missing, { statusCode: 404, isRetryable: false, message: /none/ }, dialect)
    const errors: unknown[] = []
    const { fullStream } = streamText({
      ...ask,
      prompt: 'one two three four [sandbox: error after=2]',
      onError: () => undefined
    })
    for await (const part of fullStream) if (part.type === 'error') errors.push(part.error)
    t.equal(errors.length, 1, dialect)
  }
})

/**
 * Validates what callers of the Messages API receive, and what they may send, against the API description.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { compileCheck } from '../../lib/validation/compile-check.ts'
import { callOptionNames } from '../../schemas/call-options.ts'
import { CountTokensRequest, MessagesRequest } from '../../schemas/messages-request.ts'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { anyAnswer } from '../dialects/messages/any-answer.ts'
import { complete, framesOf, streamed } from '../dialects/messages/answer.ts'
import { description } from '../support/description.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { isObject, objectsOf, property, type JsonObject } from '../../lib/json/type-guards.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { brokenValuesOf } from '../support/schema-values.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const api = description('anthropic.json')
if (api !== undefined) {
  const { check, validator } = api

  t.test('every answer, and every event of its stream, matches the API', async () => {
    const isAnswer = validator('ServerMessage')
    const isEvent = validator('ServerStreamEvent')
    await fc.assert(
      fc.asyncProperty(anyAnswer, fc.boolean(), async ({ events, hidesThinking }, fails) => {
        const answer: unknown = JSON.parse(JSON.stringify(await complete([events], { hidesThinking })))
        if (!isAnswer(answer)) throw new Error(JSON.stringify([isAnswer.errors, answer]))
        for (const event of framesOf(
          await streamed(
            [events],
            { hidesThinking },
            fails ? new GatewayError('upstream_overloaded') : undefined
          )
        )) {
          if (!isEvent(event)) throw new Error(JSON.stringify([isEvent.errors, event]))
        }
      }),
      { numRuns: 300 }
    )
  })

  t.test('errors, token counts and models match the API', async t => {
    const gateway = await testGateway(t, {
      providers: [{ ...upstreamAt('sandbox:', 'sandbox', 'sandbox'), options: { words_per_second: 0 } }]
    })
    const ask = async (model: string, content: unknown, path = '/v1/messages'): Promise<unknown> =>
      await (await gateway.post(path, { model, max_tokens: 5, messages: [{ role: 'user', content }] })).json()
    const model = 'sandbox/echo'
    check('ServerErrorResponse', await ask('sandbox/none', 'x'), 'an unknown model')
    for (const content of [5, ...[400, 429, 500, 503].map(status => `[sandbox: status=${status}]`)]) {
      check('ServerErrorResponse', await ask(model, content), String(content))
    }
    check(
      'ServerErrorResponse',
      await (await fetch(`${gateway.url}/v1/messages`, { method: 'POST' })).json(),
      'no key'
    )
    check('ServerMessage', await ask(model, 'hi'), 'an answer')
    check('MessageTokensCount', await ask(model, 'hi', '/v1/messages/count_tokens'), 'a count')
    const headers = { 'anthropic-version': '2023-06-01' }
    check('ModelList', await (await gateway.get('/v1/models', { headers })).json(), 'models')
    check('ModelInfo', await (await gateway.get(`/v1/models/${model}`, { headers })).json(), 'a model')
  })

  t.test('requests that the API accepts are accepted', async t => {
    // The description of requests leaves these fields of a custom tool open; the description of tools defines
    // them.
    const isFlag = validator('Tool/properties/defer_loading')
    const hasFlags = ({ tools }: JsonObject): boolean =>
      objectsOf(tools).every(
        ({ type, strict, defer_loading: deferred }) =>
          (typeof type === 'string' && type !== 'custom') ||
          [strict, deferred].every(flag => flag === undefined || flag === null || isFlag(flag))
      )
    // The same applies to the schema of an output format.
    const hasSchema = ({ output_config: config }: JsonObject): boolean => {
      const schema = property(property(config, 'format'), 'schema')
      return schema === undefined || schema === null || isObject(schema)
    }
    for (const [name, schema] of [
      ['InboundMessagesRequest', MessagesRequest],
      ['InboundCountTokensRequest', CountTokensRequest]
    ] as const) {
      const isTaken = compileCheck(schema)
      const isOfApi = validator(name)
      let both = 0
      fc.assert(
        fc.property(brokenValuesOf(schema), value => {
          // `validate` treats a top-level null as absent. The API does not know the fields that are meant for
          // the gateway, and its description lacks an older name of `output_config.format`.
          const request: JsonObject = Object.fromEntries(
            Object.entries(Object(value) as object).filter(
              ([name, field]) => field !== null && name !== 'output_format' && !callOptionNames.includes(name)
            )
          )
          // The API does not limit model names; the gateway does, at 256 characters.
          const hasLongName = typeof request['model'] === 'string' && request['model'].length > 256
          if (!isOfApi(request) || !hasFlags(request) || !hasSchema(request) || hasLongName) return
          both++
          if (!isTaken(request)) throw new Error(JSON.stringify(request))
        }),
        { numRuns: 2000 }
      )
      t.ok(both > 20, `${name}: ${both} of them`)
    }
    const fixtures = join(import.meta.dirname, '../../../test/fixtures/anthropic')
    const isTaken = compileCheck(MessagesRequest)
    for (const file of readdirSync(fixtures).filter(name => name.endsWith('.request.json'))) {
      // of ours
      const { model, request } = JSON.parse(readFileSync(join(fixtures, file), 'utf8')) as {
        model: string
        request: ChatInput
      }
      const sent: unknown = JSON.parse(
        String(
          anthropicChat.request({
            request,
            route: { providerId: 'anthropic', model, modelId: model },
            quirks: {},
            streamed: false
          }).body
        )
      )
      t.ok(isTaken(sent), file)
    }
  })
}

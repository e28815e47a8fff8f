import t from 'tap'
import {
  callerError,
  invalidResponse,
  ProviderFailure,
  throwFailure,
  usageOfError,
  type Failure,
  type FailureKind
} from '../../lib/providers/provider-failure.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { Secret } from '../../lib/core/secret.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { provider, providerSettings } from '../support/settings.ts'
import type { Adapter } from '../../lib/providers/provider.ts'

const own = new Secret('caller-key')

/** Each kind, as seen by a caller with the gateway's credential, and by one with their own key. */
const kinds: Readonly<
  Record<FailureKind, readonly [status: number, code: string, own?: readonly [status: number, code: string]]>
> = {
  credential: [502, 'upstream_auth_failed', [401, 'invalid_provider_key']],
  quota: [503, 'upstream_quota_exhausted', [402, 'insufficient_quota']],
  rate_limit: [429, 'rate_limit_exceeded'],
  overloaded: [503, 'upstream_overloaded'],
  timeout: [504, 'upstream_timeout'],
  model: [404, 'model_not_found'],
  context_length: [400, 'context_length_exceeded'],
  content_policy: [400, 'content_policy_violation'],
  too_large: [413, 'file_too_large'],
  unsupported: [400, 'unsupported_parameter'],
  invalid_document: [400, 'invalid_document'],
  invalid_format: [400, 'unsupported_format'],
  invalid_request: [400, 'upstream_invalid_request'],
  redirect: [502, 'upstream_invalid_response'],
  missing_api: [502, 'upstream_error'],
  rejected: [502, 'upstream_error'],
  error: [502, 'upstream_error']
}

t.test("each kind of failure maps to an error; with the caller's own key, refusals are theirs", async t => {
  for (const [kind, [status, code, theirs = [status, code]]] of Object.entries(kinds)) {
    const failure = new ProviderFailure({ kind: kind as FailureKind }) // a key of the table
    const [ours, forOwner] = [callerError(failure), callerError(failure, [], own)]
    t.same([ours.status, ours.code], [status, code], kind)
    t.same([forOwner.status, forOwner.code], theirs, `${kind} with a key of the caller`)
  }
  t.equal(callerError(new ProviderFailure({ kind: 'rejected' })).fault, 'final', 'not worth another attempt')
})

t.test(
  'provider messages about the request are shown, with secrets removed',
  async t => {
    const said: Failure = {
      kind: 'invalid_request',
      message: 'no gateway-secret and no caller-key here',
      param: 'n',
      status: 418,
      code: 'teapot'
    }
    t.strictSame(callerError(new ProviderFailure(said), [new Secret('gateway-secret')], own).toBody(), {
      error: {
        message: 'no [redacted] and no [redacted] here',
        type: 'invalid_request_error',
        code: 'teapot',
        param: 'n'
      }
    })
    const limited: Failure = {
      kind: 'rate_limit',
      message: 'You (org-7) have reached your limit',
      retryAfterSeconds: 9,
      rateLimits: { 'x-ratelimit-limit-requests': '1' }
    }
    t.equal(
      callerError(new ProviderFailure(limited)).message,
      'The provider is limiting requests. Try again later.'
    )
    t.match(callerError(new ProviderFailure(limited), [], own), {
      message: limited.message,
      retryAfterSeconds: 9,
      rateLimits: limited.rateLimits
    })
    t.notMatch(
      JSON.stringify(
        callerError(new ProviderFailure({ kind: 'credential', message: 'Incorrect key' })).toBody()
      ),
      'Incorrect'
    )
  }
)

t.test('no provider message shows a secret, wherever it is', async t => {
  const words = 'gateway-secret, caller-key or sk-other0123456789'
  const failures = Object.keys(kinds).map(kind => new ProviderFailure({
    kind: kind as FailureKind, // a key of the table
    message: words,
    param: words,
    code: words,
    cause: { code: words }
  }))
  for (const failure of failures) {
    for (const key of [undefined, own]) {
      const secrets = [new Secret('gateway-secret'), ...key === undefined ? [new Secret('caller-key')] : []]
      const body = JSON.stringify(callerError(failure, secrets, key).toBody())
      t.notMatch(body, /gateway-secret|caller-key|sk-other/, failure.failure.kind)
    }
  }
})

t.test('other thrown errors keep their meaning and lose their secrets', async t => {
  t.match(callerError(new GatewayError('upstream_timeout')), { code: 'upstream_timeout' })
  const unexpected = callerError(new Error('failed with gateway-secret'), [new Secret('gateway-secret')])
  t.equal(unexpected.code, 'internal_error')
  t.notMatch((unexpected.cause as Error).message, 'gateway-secret')
})

t.test('a reader reports the failure it found, or an unreadable response', async t => {
  t.throws(() => throwFailure({ kind: 'quota' }, 'x'), {
    name: 'ProviderFailure',
    failure: { kind: 'quota' }
  })
  t.throws(() => throwFailure(undefined, 'the response has no choices'), {
    code: 'upstream_invalid_response',
    cause: 'the response has no choices'
  })
  t.match(invalidResponse('why'), { code: 'upstream_invalid_response', cause: 'why' })
})

t.test('a complete but invalid answer reports its usage', t => {
  const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
  const noCall = { finish_reason: 'tool_calls', message: {} }
  const chatUsage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 }
  const tokens = { input_tokens: 7, output_tokens: 2, total_tokens: 9 }
  const filtered = { finishReason: 'IMAGE_SAFETY' }
  const googleUsage = { promptTokenCount: 7, candidatesTokenCount: 2, totalTokenCount: 9 }
  const embeddings = { model: 'm', input: ['a', 'b'] }
  const prompt = { model: 'm', prompt: 'a cat' }
  const answers = [
    ['openai-compatible', 'chat', chat, { id: 'x', choices: [], usage: chatUsage }],
    ['openai-compatible', 'chat', chat, { id: 'x', choices: [noCall], usage: chatUsage }],
    ['anthropic', 'chat', chat, { content: [], stop_reason: 'tool_use', usage: tokens }],
    ['google', 'chat', chat, { candidates: [{}], usageMetadata: googleUsage }],
    ['google', 'images', prompt, { candidates: [filtered], usageMetadata: googleUsage }],
    ['openai', 'images', prompt, { created: 1, data: [{}], usage: tokens }],
    ['openai', 'chat', chat, { status: 'completed', usage: tokens }],
    ['openai', 'embeddings', embeddings, { data: [{ index: 0, embedding: [1] }], usage: chatUsage }],
    ['google', 'embeddings', embeddings, { embeddings: [{ values: [1] }], usageMetadata: googleUsage }]
  ] as const
  for (const [kind, capability, request, body] of answers) {
    const { adapters } = createProvider(providerSettings('x', kind), provider('x').transport)
    const adapter = adapters[capability] as Adapter<object, unknown> | undefined // any request is an object
    const route = { providerId: 'x', model: 'm', modelId: 'x/m' }
    const input = { request, route, quirks: {}, streamed: false }
    const reader = adapter?.read({ status: 200, headers: {} }, input)
    const read = (): unknown => {
      if (reader?.as === 'json') return reader.read(body)
      return reader?.as === 'bytes' ? reader.read(Buffer.from(JSON.stringify(body))) : undefined
    }
    let usage: unknown
    try {
      read()
    } catch (error) {
      usage = usageOfError(error)
    }
    t.match(usage, { promptTokens: 7 }, `${kind}: ${JSON.stringify(body)}`)
  }
  t.end()
})

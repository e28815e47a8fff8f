import t from 'tap'
import { inCallerTerms } from '../../lib/attempts/caller-terms.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { ProviderFailure, type Failure } from '../../lib/providers/provider-failure.ts'
import type { AdapterInput } from '../../lib/providers/provider.ts'

const input: AdapterInput<object> = {
  request: {}, route: { providerId: 'x', model: 'm', modelId: 'x/m' }, quirks: {}, streamed: false
}
const adapter = {
  callerParam: (param: string) => param === 'messages' ? 'input' : param.replace('our', 'their')
}

t.test('the failure of a provider gets the name of the caller, and keeps everything else', t => {
  const named = (failure: Failure): unknown =>
    inCallerTerms(new ProviderFailure(failure, 418), input, adapter)
  t.match(named({ kind: 'invalid_request', param: 'ours', message: 'No `ours`.' }), {
    status: 418, failure: { kind: 'invalid_request', param: 'theirs', message: 'No `ours`.' }
  })
  t.match(named({ kind: 'context_length' }), { failure: { param: 'input' } }, 'by default the conversation')
  t.match(named({ kind: 'error' }), { failure: { param: undefined } })
  const without = inCallerTerms(new ProviderFailure({ kind: 'error', param: 'ours' }), input, {})
  t.match(without, { failure: { param: 'ours' } })
  t.end()
})

t.test('the error of an adapter gets it in its message too, and other errors are unchanged', t => {
  const error = new GatewayError('unsupported_parameter', { param: 'ours', message: '`ours` is too long.' })
  t.match(inCallerTerms(error, input, adapter), { param: 'theirs', message: '`theirs` is too long.' })
  for (const other of [new GatewayError('upstream_timeout'), new Error('no'), 'no']) {
    t.equal(inCallerTerms(other, input, adapter), other)
  }
  t.end()
})

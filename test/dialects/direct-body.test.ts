import t from 'tap'
import { callerText, directBody } from '../../lib/dialects/direct-body.ts'
import { bufferBody } from '../../lib/wire/buffer-body.ts'
import { routedCall } from '../support/stages.ts'

t.test('everything except the replaced fields stays as the caller wrote it', async t => {
  const text = '{ "b" : 1.0, "x": null,\n "model":"mine", "list": [1,  2] }'
  const request = { b: 1, model: 'mine', list: [1, 2] }
  t.equal(
    directBody(text, request, { model: 'm' }),
    '{ "b" : 1.0, "x": null,\n "model":"m", "list": [1,  2] }'
  )
  t.equal(
    directBody(text, request, { model: 'm', store: false, absent: undefined }),
    '{"store":false, "b" : 1.0, "x": null,\n "model":"m", "list": [1,  2] }'
  )
})

t.test('removing a field, even a null one, serializes the request again', async t => {
  const text = '{ "model": "mine", "ours": [1], "theirs": 1 }'
  t.equal(
    directBody(text, { model: 'mine', ours: [1], theirs: 1 }, { model: 'm', ours: undefined }),
    '{"model":"m","theirs":1}'
  )
  t.equal(
    directBody('{ "model": "mine", "ours": null }', { model: 'mine' }, { model: 'm', ours: undefined }),
    '{"model":"m"}'
  )
})

t.test('a duplicate field is sent once, with the value that was validated', async t => {
  t.equal(
    directBody('{"model":"mine","a":{"b":1,"b":2}}', { model: 'mine', a: { b: 2 } }, { model: 'm' }),
    '{"model":"m","a":{"b":2}}'
  )
  t.equal(directBody('{"model":"other","model":"mine"}', { model: 'mine' }, { model: 'm' }), '{"model":"m"}')
})

t.test('a large request is not edited as text', async t => {
  const call = {
    ...routedCall({ model: 'mine' }),
    callerBody: () => ({ text: () => '{"model":"mine"}', print: JSON.stringify })
  }
  t.equal(callerText(call, call.request), '{"model":"mine"}')
  call.record.request.bodyBytes = 2_000_000
  t.equal(callerText(call, call.request), undefined)
  const body = directBody(undefined, { model: 'mine', a: 1, ours: 2 }, { model: 'm', ours: undefined })
  if (typeof body === 'string') throw new TypeError('it is printed while it is sent')
  t.equal((await bufferBody(body)).toString(), '{"model":"m","a":1}')
})

import t from 'tap'
import { callerFields } from '../../../lib/dialects/messages/caller-fields.ts'
import type { MessagesRequest } from '../../../schemas/messages-request.ts'

function fieldsOf (request: Partial<MessagesRequest>, keyId = 'key') {
  return callerFields({ request: { model: 'm', messages: [], ...request }, keyId })
}

t.test('the same prompt of the same key has the same cache key', async t => {
  t.match(fieldsOf({}), { prompt_cache_key: /^[0-9a-f]{64}$/ })
  t.same(fieldsOf({}), fieldsOf({ messages: [{ role: 'user', content: 'other' }] }))
  t.not(fieldsOf({}).prompt_cache_key, fieldsOf({ system: 'other' }).prompt_cache_key)
  t.not(fieldsOf({}).prompt_cache_key, fieldsOf({}, 'other').prompt_cache_key)
})

t.test('a user is identified by a hash', async t => {
  t.match(fieldsOf({ metadata: { user_id: '{"device":"x"}' } }), { safety_identifier: /^[0-9a-f]{64}$/ })
  t.notOk('safety_identifier' in fieldsOf({ metadata: { user_id: '' } }))
})

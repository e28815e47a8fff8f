import t from 'tap'
import { tooLong } from '../../lib/validation/too-long.ts'

t.test('a list over a configured limit is refused like one over a schema limit', async t => {
  const error = tooLong(['messages', 0, 'content'], 21, 20)
  t.equal(error.status, 422)
  t.strictSame(error.detail, [{
    loc: ['body', 'messages', 0, 'content'],
    msg: 'List should have at most 20 items after validation, not 21',
    type: 'too_long',
    ctx: { field_type: 'List', max_length: 20, actual_length: 21 }
  }])
})

import t from 'tap'
import {
  isLargeRequest, needsSlices, noteIgnored, requestBytes, RequestFacts, sliceBytes
} from '../../lib/core/request-facts.ts'

t.test('the size of a request includes the stored responses that it continues', async t => {
  const request = new RequestFacts()
  request.bodyBytes = sliceBytes
  t.notOk(needsSlices(request))
  request.storedInputBytes = 1
  t.equal(requestBytes(request), sliceBytes + 1)
  t.ok(needsSlices(request))
  t.notOk(isLargeRequest(request))
  request.storedInputBytes = 1024 * 1024
  t.ok(isLargeRequest(request))
})

t.test('ignored fields are recorded once, up to 20, each cut at 64 characters', async t => {
  const request = new RequestFacts()
  noteIgnored(request, 'x'.repeat(100))
  noteIgnored(request, 'x'.repeat(100))
  t.same(request.ignoredFields, ['x'.repeat(64)])
  for (let number = 0; number < 30; number++) noteIgnored(request, `field ${number}`)
  t.equal(request.ignoredFields?.length, 20)
})

import t from 'tap'
import { RequestFacts } from '../../lib/core/record.ts'
import { isLargeRequest, needsSlices, requestBytes, sliceBytes } from '../../lib/core/request-size.ts'

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

import t from 'tap'
import { endpointDocs } from '../../pipelines/index.ts'
import { openApi } from '../../pipelines/openapi.ts'
import { routedCall } from '../support/stages.ts'

t.test('the document has every endpoint and the current version, and is printed once', async t => {
  const handle = openApi(endpointDocs, '1.2.3')
  const [first, second] = [await handle(routedCall({})), await handle(routedCall({}))]
  t.match(first.headers, { 'content-type': 'application/json; charset=utf-8' })
  t.equal(first.body, second.body)
  const { info, paths } = JSON.parse(typeof first.body === 'string' ? first.body : '') as {
    info: { version: string }
    paths: Record<string, object>
  }
  t.equal(info.version, '1.2.3')
  const operations = Object.values(paths).flatMap(path => Object.keys(path))
  t.equal(operations.length, endpointDocs.length)
})

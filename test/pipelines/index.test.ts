import t from 'tap'
import { endpointNames } from '../../schemas/endpoints.ts'
import { sandboxProvider, testServices } from '../../lib/public/testing.ts'
import { createEndpoints, endpointDocs } from '../../pipelines/index.ts'

t.test('every endpoint has documentation, a known name, and a size limit for its body', async t => {
  const services = testServices(sandboxProvider())
  t.teardown(services.close)
  const endpoints = createEndpoints(services)
  t.same(
    endpoints.map(({ method, path }) => `${method} ${path}`),
    endpointDocs.map(({ method, path }) => `${method} ${path}`)
  )
  for (const { name, path, body, maxBodyBytes } of endpoints) {
    t.ok(endpointNames.includes(name) || name === 'admin', path)
    t.equal(maxBodyBytes > 0, body !== 'none', path)
  }
  t.same(
    endpointNames.filter(name => !endpoints.some(endpoint => endpoint.name === name)),
    [],
    'and every name has an endpoint'
  )
})

/**
 * The gateway inside a Koa app of your own, behind your own middleware and beside your own routes.
 *
 *     npx tsc && node mounted-gateway.js
 */

import { createServer, type Server } from 'node:http'
import { createGateway, createLog, type Gateway } from 'headgate'
import { loadSettings } from 'headgate/config'
import Koa from 'koa'

export async function mountGateway (
  env: NodeJS.ProcessEnv,
  cwd: string
): Promise<{ gateway: Gateway, server: Server }> {
  const settings = loadSettings({ env, cwd })
  const keys = { check: (presented: string) => presented === 'secret' ? { id: '1', name: 'me' } : undefined }
  const gateway = await createGateway(settings, { keys, log: createLog('warn') })
  await gateway.start()

  const app = new Koa()
  app.use(async (context, next) => {
    context.set('x-served-by', 'my app')
    const startedMs = performance.now()
    await next()
    console.log(
      `${context.method} ${context.path} ${context.status} ${Math.round(performance.now() - startedMs)} ms`
    )
  })
  app.use(gateway.middleware())
  app.use(context => { if (context.path === '/hello') context.body = 'Hello from my app' })
  const handle = app.callback()
  return { gateway, server: createServer((request, response) => { void handle(request, response) }) }
}

if (process.argv[1] === import.meta.filename) {
  const { server } = await mountGateway(process.env, process.cwd())
  server.listen(8080, '127.0.0.1', () =>
    console.log('listening on http://127.0.0.1:8080; the key is "secret"')
  )
}

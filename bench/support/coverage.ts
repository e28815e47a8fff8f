/**
 * Preloaded into a gateway process (`--import`): reports over HTTP, on the port in `COVERAGE_PORT`, which of
 * our functions have run since the last request, as counted by V8.
 */

import { createServer } from 'node:http'
import { Session, type Profiler } from 'node:inspector/promises'

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

/** Returns the functions that have run, each after its file: `lib/stages/auth.js auth:1204`. */
function named ({ url, functions }: Profiler.ScriptCoverage): string[] {
  const file = /\/build\/((?:lib|pipelines|schemas)\/.*)$/.exec(url)?.[1]
  return file === undefined
    ? []
    : functions.flatMap(({ functionName, ranges: [range] }) =>
        functionName !== '' && range !== undefined && range.count > 0
          ? [`${file} ${functionName}:${range.startOffset}`]
          : []
      )
}

createServer((_request, response) => {
  session.post('Profiler.takePreciseCoverage').then(
    ({ result }) => response.end(JSON.stringify(result.flatMap(named))),
    (error: unknown) => response.writeHead(500).end(String(error))
  )
}).listen(Number(process.env['COVERAGE_PORT']), '127.0.0.1').unref()

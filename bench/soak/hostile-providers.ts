import { gzipSync } from 'node:zlib'
import type { ServerResponse } from 'node:http'
import { fakeProvider, sendJson } from './provider.ts'
import { maxStallMs, watchLiveness } from './liveness.ts'
import { finding, type Finding, type Scenario } from './scenario.ts'
import { maxTurnMs, watchTurns } from './turn-watch.ts'
import { providerAt, startWorld } from './world.ts'

const stream = { 'content-type': 'text/event-stream' }
const json = { 'content-type': 'application/json' }
const chunkOf = (delta: object, index = 0): string =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index, delta, finish_reason: null }] })}\n\n`

const completion = (content: string, logprobs?: object): object => ({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content }, logprobs, finish_reason: 'stop' }]
})

const bomb = gzipSync(Buffer.alloc(200_000_000, 0x20))

/** Writes pieces as fast as they are read, until the other side disconnects. */
function pour (response: ServerResponse, piece: () => string | Buffer, most = Infinity): void {
  let written = 0
  const more = (): void => {
    while (written++ < most && !response.destroyed) {
      if (!response.write(piece())) {
        response.once('drain', more)
        return
      }
    }
    if (!response.destroyed) response.end()
  }
  more()
}

/** The ways in which a provider may misbehave, by the name of the requested model. */
const behaviours: Readonly<
  Record<string, { readonly streamed: boolean, readonly answer: (response: ServerResponse) => void }>
> = {
  'a gzip bomb of 200 MB': {
    streamed: false,
    answer: response => response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bomb)
  },
  'an endless JSON body': {
    streamed: false,
    answer: response => pour(response.writeHead(200, json), () => 'x'.repeat(65_536))
  },
  'an error that does not end': {
    streamed: false,
    answer: response => {
      response.writeHead(400, json).write('{"error":')
    }
  },
  '60 MB of empty objects': {
    streamed: false,
    answer: response => pour(response.writeHead(200, json), () => `[${'{},'.repeat(20_000)}`, 1000)
  },
  'a text of 60 MB': {
    streamed: false,
    answer: response => sendJson(response, JSON.stringify(completion('x'.repeat(60_000_000))))
  },
  '100,000 probabilities': {
    streamed: false,
    answer: response =>
      sendJson(
        response,
        JSON.stringify(
          completion('x', { content: Array.from({ length: 100_000 }, () => ({ token: 'x', logprob: 0 })) })
        )
      )
  },
  'an event of 8 MB of empty objects': {
    streamed: true,
    answer: response =>
      pour(response.writeHead(200, stream), () => `data: {"choices":[${'{},'.repeat(2_600_000)}{}]}\n\n`, 1)
  },
  'a body 50,000 levels deep': {
    streamed: false,
    answer: response => sendJson(response, `{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)
  },
  'a line that does not end': {
    streamed: true,
    answer: response => pour(response.writeHead(200, stream), () => `data: ${'x'.repeat(65_536)}`.slice(6))
  },
  '120,000 tool calls': {
    streamed: true,
    answer: response => {
      let number = 0
      pour(
        response.writeHead(200, stream),
        () =>
          chunkOf({
            tool_calls: [
              {
                index: number,
                id: `c${number++}`,
                type: 'function',
                function: { name: 'f', arguments: '{}' }
              }
            ]
          }),
        120_000
      )
    }
  },
  'a million choices': {
    streamed: true,
    answer: response => {
      let number = 0
      pour(response.writeHead(200, stream), () => chunkOf({ content: 'x' }, number++), 1_000_000)
    }
  },
  'garbage in a stream': {
    streamed: true,
    answer: response => pour(response.writeHead(200, stream), () => 'data: {]\n\n', 10)
  },
  'events without text': {
    streamed: true,
    answer: response => pour(response.writeHead(200, stream), () => ': still here\n\n', 200_000)
  }
}

/**
 * Providers that lie about size, shape and number: each call ends, memory is bounded, others are served at
 * once.
 */
export const hostileProviders: Scenario = {
  name: 'hostile providers',
  run: async short => {
    const turns = watchTurns()
    const provider = await fakeProvider((_, response, body) => {
      const name = /"model":"([^"]*)"/.exec(body)?.[1] ?? ''
      behaviours[name]?.answer(response)
    })
    const world = await startWorld({
      ...turns.options,
      configuration: {
        providers: {
          sandbox: { kind: 'sandbox', options: { words_per_second: 0 } },
          fake: providerAt(provider.port, 'openai', {
            retries: 0,
            timeouts: { response_ms: 5000, idle_bytes_ms: 5000, idle_events_ms: 5000 }
          })
        }
      }
    })
    const findings: Finding[] = []
    try {
      // Modules loaded and compiled by the first calls are not part of a behaviour's cost.
      for (let round = 0; round < 20; round++) {
        await world.post('/v1/chat/completions', {
          model: 'sandbox/echo',
          messages: 'x',
          stream: round % 2 === 0
        })
      }
      for (const [name, { streamed }] of Object.entries(behaviours)) {
        const startedMs = performance.now()
        await turns.ask(world)
        const liveness = await watchLiveness(world.url)
        const { status } = await world.post('/v1/chat/completions', {
          model: `fake/${name}`,
          messages: 'x',
          stream: streamed
        })
        const tookMs = performance.now() - startedMs
        const slowestMs = await liveness.stop()
        const { workMs } = await turns.ask(world)
        const alive =
          (await world.post('/v1/chat/completions', { model: 'sandbox/echo', messages: 'x' })).status === 200
        findings.push(
          finding(
            name,
            alive &&
              tookMs < 20_000 &&
              slowestMs < maxStallMs() &&
              workMs < maxTurnMs(short) &&
              world.rssMb() < 600,
            `${status} after ${tookMs.toFixed(0)} ms; /livez meanwhile at most ${slowestMs.toFixed(0)} ms, ${workMs.toFixed(0)} ms in a turn; ${world.rssMb()} MB`
          )
        )
      }
      return findings
    } finally {
      await world.stop()
      turns.stop()
      provider.close()
    }
  }
}

/** Settings for benchmarks inside one process: generous limits, one provider. */

import { Secret } from '../../lib/core/secret.ts'
import type { Settings } from '../../lib/core/settings.ts'

export const benchKey = 'hg_bench_0123456789abcdef0123456789abcdef'

export function benchSettings (port: number, upstreamPort: number): Settings {
  return {
    server: {
      host: '127.0.0.1', acceptedHosts: ['*'],
      port,
      workers: 1,
      logLevel: 'info',
      dataDir: '',
      publicHealth: true,
      shutdownDelayMs: 0,
      drainMs: 1_000,
      workerTimeoutMs: 10_000,
      keepAliveMs: 60_000,
      maxClientConnections: 10_000
    },
    limits: {
      jsonBodyBytes: 20_000_000,
      jsonBodyTotalBytes: 20_000_000,
      jsonValues: 1_000_000,
      jsonDepth: 64,
      chatMessages: 20_000,
      chatParts: 20_000,
      chatTools: 1024,
      modelsPerCall: 16,
      audioFileBytes: 25_000_000,
      documentBytes: 50_000_000,
      answerBytes: 50_000_000,
      eventBytes: 8_000_000,
      openCalls: 5_000,
      maxSharePerKey: 1,
      uploadDiskBytes: 1_000_000_000,
      pipelinedRequests: 16,
      callMs: 600_000,
      bodyMs: 30_000,
      headersMs: 30_000
    },
    tools: {
      connectMs: 10_000,
      callMs: 30_000,
      loopMs: 300_000,
      loopTokens: 10_000_000,
      resultBytes: 100_000,
      callsPerTurn: 16,
      maxIdenticalCalls: 3,
      listTtlMs: 300_000,
      sessionIdleMs: 300_000,
      maxSessions: 256,
      allowedHosts: []
    },
    providers: [{
      id: 'mock',
      kind: 'openai',
        enabled: true,
      baseUrl: `http://127.0.0.1:${upstreamPort}/v1`,
      apiKey: new Secret('sk-mock'),
      headers: {},
      timeouts: {
        connectMs: 10_000, firstByteMs: 60_000, responseMs: 600_000, idleBytesMs: 60_000, idleEventsMs: 120_000
      },
      retries: 2,
      onDisconnect: 'abort',
      maxConnections: 4_096,
      maxWaitingCalls: 4_096,
      maxWaitingMs: 10_000,
      quirks: {},
      listModels: false,
      options: {}
    }],
    models: [],
    routes: [],
    toolServers: [],
    keys: [],
    usage: { keepDays: 1, keepRows: 1000 },
    deferred: { forAllProviders: false, keepMs: 60_000, maxPending: 100, maxBytesPerKey: 1_000_000 },
    responses: { store: true, keepMs: 86_400_000, maxBytesPerKey: 268_435_456 },
  }
}

/** The tool servers of the configuration. */

import type { JSX } from 'preact'
import { api } from '../api/client.ts'
import { Card } from '../parts/card.tsx'
import { Code } from '../parts/code.tsx'
import { Empty } from '../parts/empty.tsx'
import { Failure } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { useResource } from '../state/resource.ts'
import { ToolServer } from './tool-server.tsx'

const example = `mcp_servers:
  acme/tickets:
    url: https://tools.example.com/mcp`

export function ToolsPage (): JSX.Element {
  const { data, error, reload } = useResource('tools', signal =>
    api('GET /admin/v1/tool-servers', { signal })
  )
  return (
    <Page title='Tool servers' subtitle='Servers (MCP) whose tools the gateway runs for any model.'>
      <Failure error={error} retry={() => void reload()} />
      <div class='stack'>
        {data === undefined && error === undefined && (
          <Card>
            <SkeletonLines />
          </Card>
        )}
        {data?.data.map(server => (
          <ToolServer key={server.slug} server={server} />
        ))}
        {data?.data.length === 0 && (
          <section class='card'>
            <Empty icon='tools' title='No tool servers yet'>
              Name them in the configuration, or name a server by its URL in a call.
            </Empty>
            <div class='body narrow'>
              <Code text={example} label='configuration' />
            </div>
          </section>
        )}
      </div>
    </Page>
  )
}

/**
 * Shows the page of the address. Its code is loaded on the first visit; the previous page stays until then.
 */

import { useSignal, useSignalEffect } from '@preact/signals'
import type { JSX } from 'preact'
import { Component, type ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Page } from '../parts/page.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { at, path } from '../state/router.ts'
import { may } from '../state/session.ts'
import { matchPath, type PageComponent } from './pages.ts'

interface Shown {
  readonly path: string
  readonly id: string
  readonly Page: PageComponent
}

export function Outlet (): JSX.Element {
  const shown = useSignal<Shown | undefined>(undefined)
  useSignalEffect(() => {
    const wanted = path.value
    const match = matchPath(wanted)
    if (match === undefined || !may(match.route.role))
      shown.value = { path: wanted, id: '', Page: match === undefined ? NotFound : NotAllowed }
    else
      void match.route
        .load()
        .catch(() => NotLoaded)
        .then(Page => {
          if (path.peek() === wanted) shown.value = { path: wanted, id: match.id, Page }
        })
  })
  // Of another page a screen reader says the title, and Tab goes to what is on it.
  const before = useRef<string | undefined>(undefined)
  const now = shown.value?.path
  useLayoutEffect(() => {
    if (before.current !== undefined) document.getElementById('content')?.focus({ preventScroll: true })
    before.current = now
  }, [now])
  if (shown.value === undefined) {
    return (
      <div class='page'>
        <SkeletonLines lines={6} />
      </div>
    )
  }
  const { id, Page } = shown.value
  return (
    <Boundary key={shown.value.path}>
      <Page id={id} />
    </Boundary>
  )
}

/** Keeps the navigation alive when a page fails. */
class Boundary extends Component<{ readonly children: ComponentChildren }, { readonly error?: Error }> {
  override state: { readonly error?: Error } = {}

  static override getDerivedStateFromError (error: Error): { readonly error: Error } {
    return { error }
  }

  override render (): ComponentChildren {
    if (this.state.error === undefined) return this.props.children
    return (
      <Page title='This page failed'>
        <Empty
          icon='warning'
          title={this.state.error.message}
          actions={<Button onClick={() => location.reload()}>Load it again</Button>}
        />
      </Page>
    )
  }
}

function NotFound (): JSX.Element {
  return (
    <Page title='Not found'>
      <Empty
        icon='search'
        title='There is no such page'
        actions={<Button href={at('/')}>To the overview</Button>}
      />
    </Page>
  )
}

function NotAllowed (): JSX.Element {
  return (
    <Page title='No access'>
      <Empty icon='lock' title='Your role does not include this page'>
        Ask an owner or an admin to change your role.
      </Empty>
    </Page>
  )
}

/** The gateway was restarted with another build, or is gone. */
function NotLoaded (): JSX.Element {
  return (
    <Page title='Not loaded'>
      <Empty
        icon='warning'
        title='The page could not be loaded'
        actions={<Button onClick={() => location.reload()}>Load it again</Button>}
      >
        The gateway may have been updated or stopped.
      </Empty>
    </Page>
  )
}

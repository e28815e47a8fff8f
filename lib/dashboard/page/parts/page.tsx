/** The head of a page: its location and its main action. */

import type { ComponentChildren, JSX } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { at } from '../state/router.ts'
import { Breakable } from './breakable.tsx'
import { Icon } from './icon.tsx'

export interface PageProps {
  readonly title: string
  readonly subtitle?: ComponentChildren
  readonly actions?: ComponentChildren
  /** The list that this page belongs to. */
  readonly back?: { readonly place: string, readonly label: string }
  readonly wide?: boolean
  readonly children: ComponentChildren
}

export function Page ({ title, subtitle, actions, back, wide = false, children }: PageProps): JSX.Element {
  useLayoutEffect(() => { document.title = `${title} · Headgate` }, [title])
  return (
    <div class={wide ? 'page wide' : 'page'}>
      {back !== undefined && (
        <a class='back' href={at(back.place)}>
          <Icon name='left' size={14} />
          {back.label}
        </a>
      )}
      <div class='page-head'>
        <div class='grow'>
          <h1 id='page-title'>
            <Breakable>{title}</Breakable>
          </h1>
          {subtitle !== undefined && <p>{subtitle}</p>}
        </div>
        {actions !== undefined && <div class='row'>{actions}</div>}
      </div>
      {children}
    </div>
  )
}

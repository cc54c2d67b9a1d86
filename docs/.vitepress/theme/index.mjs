import DefaultTheme from 'vitepress/theme'
import { defineAsyncComponent, h, nextTick } from 'vue'
import HomeStart from './home/HomeStart.vue'
import './style.css'

/** The default theme, and the playground, which is loaded only by the pages that show it. */
export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-after': () => h(HomeStart) }),
  enhanceApp({ app, router }) {
    app.component(
      'Playground',
      defineAsyncComponent(() => import('./playground/Playground.vue')),
    )
    router.onAfterRouteChanged = () => nextTick(markMain)
  },
}

/** The theme's home page has no main landmark. The config marks the page as it is built, and this one after navigation. */
function markMain() {
  globalThis.document?.querySelector('.VPHome')?.setAttribute('role', 'main')
}

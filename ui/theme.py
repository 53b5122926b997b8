"""The Gradio theme. It names our tokens instead of colours: `style.css` holds the colours, once, for light and dark."""

SANS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Noto Sans", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "SF Mono", "Menlo", "Consolas", "Liberation Mono", "monospace"]

TOKENS = {
    "body_background_fill": "--o-bg",
    "body_text_color": "--o-text",
    "body_text_color_subdued": "--o-muted",
    "background_fill_primary": "--o-surface",
    "background_fill_secondary": "--o-surface-2",
    "block_background_fill": "--o-surface",
    "block_border_color": "--o-line",
    "block_label_background_fill": "--o-surface",
    "block_label_text_color": "--o-muted",
    "block_title_text_color": "--o-text",
    "block_info_text_color": "--o-muted",
    "border_color_primary": "--o-line",
    "border_color_accent": "--o-accent",
    "color_accent": "--o-accent",
    "color_accent_soft": "--o-accent-soft",
    "panel_background_fill": "--o-surface",
    "panel_border_color": "--o-line",
    "input_background_fill": "--o-field",
    "input_background_fill_focus": "--o-field",
    "input_border_color": "--o-line-2",
    "input_border_color_focus": "--o-accent",
    "input_placeholder_color": "--o-faint",
    "link_text_color": "--o-accent",
    "link_text_color_hover": "--o-accent",
    "link_text_color_active": "--o-accent",
    "link_text_color_visited": "--o-accent",
    "loader_color": "--o-accent",
    "slider_color": "--o-accent",
    "button_primary_background_fill": "--o-accent",
    "button_primary_background_fill_hover": "--o-accent-2",
    "button_primary_border_color": "--o-accent",
    "button_primary_text_color": "--o-accent-ink",
    "button_secondary_background_fill": "--o-surface",
    "button_secondary_background_fill_hover": "--o-surface-2",
    "button_secondary_border_color": "--o-line-2",
    "button_secondary_text_color": "--o-text",
    "checkbox_background_color": "--o-field",
    "checkbox_background_color_selected": "--o-accent",
    "checkbox_border_color": "--o-line-2",
    "checkbox_border_color_selected": "--o-accent",
    "checkbox_label_background_fill": "--o-surface",
    "checkbox_label_background_fill_selected": "--o-accent-soft",
    "checkbox_label_border_color": "--o-line-2",
    "checkbox_label_border_color_selected": "--o-accent",
    "checkbox_label_text_color": "--o-text",
    "checkbox_label_text_color_selected": "--o-text",
    "table_border_color": "--o-line",
    "table_even_background_fill": "--o-surface",
    "table_odd_background_fill": "--o-surface",
    "table_row_focus": "--o-accent-soft",
    "code_background_fill": "--o-surface-2",
    "error_text_color": "--o-error",
    "error_icon_color": "--o-error",
    "error_background_fill": "--o-surface",
    "error_border_color": "--o-error",
    "accordion_text_color": "--o-text",
    "stat_background_fill": "--o-accent",
}

SIZES = {
    "block_border_width": "1px",
    "block_label_text_size": "12px",
    "block_title_text_size": "13px",
    "block_title_text_weight": "550",
    "block_info_text_size": "12px",
    "block_padding": "12px",
    "block_radius": "8px",
    "block_shadow": "none",
    "container_radius": "8px",
    "input_radius": "6px",
    "input_shadow": "none",
    "input_shadow_focus": "0 0 0 3px var(--o-accent-soft)",
    "input_text_size": "14px",
    "input_padding": "8px 10px",
    "button_border_width": "1px",
    "button_primary_shadow": "none",
    "button_secondary_shadow": "none",
    "button_large_radius": "6px",
    "button_medium_radius": "6px",
    "button_small_radius": "6px",
    "button_large_padding": "9px 16px",
    "button_large_text_size": "14px",
    "button_large_text_weight": "550",
    "button_medium_text_weight": "550",
    "button_medium_text_size": "14px",
    "button_small_text_size": "13px",
    "button_small_text_weight": "500",
    "button_transition": "background-color 80ms",
    "checkbox_label_shadow": "none",
    "checkbox_shadow": "none",
    "form_gap_width": "0px",
    "layout_gap": "12px",
    "section_header_text_size": "14px",
}


def theme():
    import gradio as gr

    made = gr.themes.Base(primary_hue="teal", neutral_hue="slate", font=SANS, font_mono=MONO)
    both = {}
    for name, value in {**{name: f"var({token})" for name, token in TOKENS.items()}, **SIZES}.items():
        both[name] = value
        if hasattr(made, f"{name}_dark"):
            both[f"{name}_dark"] = value
    return made.set(**both)

"""facet.h in the words of ctypes. Made by tools/python-declarations.py; not to be changed by hand."""
# mypy: ignore-errors
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64,  # noqa: F401
                    c_size_t, c_uint8, c_void_p)

FACET_VERSION_MAJOR = 0
FACET_VERSION_MINOR = 2
FACET_VERSION_PATCH = 0
FACET_VERSION = "0.2.0"
FACET_MAX_PHASES = 32
FACET_OK = 0
FACET_NOT_CONVERGED = 1
FACET_ERROR_INPUT = 2
FACET_ERROR_MACHINE = 3
FACET_INTERRUPTED = 130
FACET_PHASE_MESH = 0
FACET_PHASE_CONDENSE = 1
FACET_PHASE_ASSEMBLE = 2
FACET_PHASE_SETUP = 3
FACET_PHASE_LOAD = 4
FACET_PHASE_SOLVE = 5
FACET_PHASE_RECOVER = 6
FACET_PHASE_POSTPROCESS = 7
FACET_PHASE_MEASURE = 8
FACET_PHASE_OUTPUT = 9
FACET_N_PHASES = 10
FACET_EVENT_BEGIN = 0
FACET_EVENT_PROGRESS = 1
FACET_EVENT_ITERATION = 2
FACET_EVENT_END = 3
FACET_EVENT_TICK = 4
FACET_DIFFUSION = 0
FACET_ELASTICITY = 1
FACET_LOAD = 1
FACET_TRACE = 2
FACET_CELLS = 4


class facet_event(Structure):
    _fields_ = [
        ("kind", c_int),
        ("phase", c_int),
        ("done", c_double),
        ("total", c_double),
        ("iteration", c_int),
        ("residual", c_double),
        ("seconds", c_double),
    ]


facet_monitor = CFUNCTYPE(None, c_void_p, POINTER(facet_event))


class facet_box(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("dim", c_int),
        ("cells", c_int * 3),
        ("periodic", c_int * 3),
        ("lower", c_double * 3),
        ("upper", c_double * 3),
        ("coordinates", c_void_p * 3),
        ("shape", c_char_p),
        ("split", c_char_p),
    ]


class facet_mesh_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("dim", c_int),
        ("geometry_order", c_int),
        ("n_cells", c_int64),
        ("n_faces", c_int64),
        ("n_boundary_faces", c_int64),
        ("n_vertices", c_int64),
        ("shape", c_char_p),
        ("volume", c_double),
        ("smallest_cell", c_double),
        ("largest_cell", c_double),
        ("smallest_jacobian", c_double),
    ]


class facet_cells(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("shape", c_char_p),
        ("order", c_int),
        ("count", c_int64),
        ("nodes", c_void_p),
    ]


class facet_members(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("dim", c_int),
        ("count", c_int64),
        ("cells", c_void_p),
        ("nodes", c_void_p),
    ]


class facet_arrays(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("dim", c_int),
        ("n_points", c_int64),
        ("points", c_void_p),
        ("numbering", c_char_p),
        ("n_blocks", c_int),
        ("blocks", POINTER(facet_cells)),
        ("n_groups", c_int),
        ("groups", POINTER(facet_members)),
    ]


class facet_group(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("dim", c_int),
        ("count", c_int64),
    ]


class facet_points(Structure):
    _fields_ = [
        ("n", c_int),
        ("dim", c_int),
        ("x", c_void_p),
        ("normals", c_void_p),
        ("t", c_double),
        ("group", c_char_p),
    ]


facet_function = CFUNCTYPE(c_int, c_void_p, POINTER(facet_points), c_void_p)


class facet_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("discretization", c_char_p),
        ("degree", c_int),
        ("operator_name", c_char_p),
        ("tau", c_char_p),
        ("tau_hat", c_double),
        ("postprocess", c_int),
        ("formulation", c_char_p),
        ("plane", c_char_p),
        ("method", c_char_p),
        ("preconditioner", c_char_p),
        ("cycle", c_char_p),
        ("smoother", c_char_p),
        ("smoother_degree", c_int),
        ("precision", c_char_p),
        ("coarse_device", c_char_p),
        ("coarse_unknowns", c_int64),
        ("degrees", c_char_p),
        ("fill", c_double),
        ("warm_start", c_int),
        ("watch", c_int),
        ("max_iterations", c_int),
        ("rtol", c_double),
        ("error", c_double),
        ("petsc", c_char_p),
        ("overlap", c_char_p),
    ]


class facet_report(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("trace_unknowns", c_int64),
        ("volume_unknowns", c_int64),
        ("iterations", c_int),
        ("converged", c_int),
        ("method", c_char_p),
        ("preconditioner", c_char_p),
        ("operator_name", c_char_p),
        ("reason", c_char_p),
        ("residual", c_double),
        ("rate", c_double),
        ("seconds", c_double * 32),
        ("conservation", c_double),
        ("peak_bytes", c_double * 32),
        ("error", c_double),
        ("discretization", c_char_p),
        ("equation", c_char_p),
        ("device", c_char_p),
        ("degree", c_int),
        ("dim", c_int),
        ("threads", c_int),
        ("n_notes", c_int),
        ("memory_bytes", c_double),
        ("conservation_whole", c_double),
    ]


class facet_level(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("device", c_char_p),
        ("precision", c_char_p),
        ("unknowns", c_int64),
        ("bytes", c_double),
        ("visits", c_int64),
        ("smooth", c_double),
        ("residual", c_double),
        ("transfer", c_double),
        ("solve", c_double),
        ("reduction", c_double),
        ("rate", c_double),
    ]


class facet_errors(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("u_L2", c_double),
        ("u_Linf", c_double),
        ("q_L2", c_double),
        ("u_star_L2", c_double),
        ("q_star_L2", c_double),
        ("trace_L2", c_double),
        ("H_L2", c_double),
        ("p_L2", c_double),
        ("stress_L2", c_double),
    ]


class facet_sample_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("dim", c_int),
        ("order", c_int),
        ("n_fields", c_int),
        ("n_points", c_int64),
        ("n_cells", c_int64),
        ("n_nodes", c_int64),
    ]


class facet_sample_field(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("components", c_int),
        ("on_cells", c_int),
    ]


class facet_case_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("title", c_char_p),
        ("output", c_char_p),
        ("equation", c_int),
        ("from", c_int),
        ("n_values", c_int),
        ("n_parameters", c_int),
    ]


class facet_value(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("field", c_char_p),
        ("n_points", c_int64),
        ("from", c_double * 3),
        ("to", c_double * 3),
        ("components", c_int),
        ("n", c_int),
    ]


# What each function returns, and what it takes.
FUNCTIONS = {
    "facet_message": (c_char_p, []),
    "facet_version": (c_char_p, []),
    "facet_commit": (c_char_p, []),
    "facet_interrupt": (None, []),
    "facet_interrupt_clear": (None, []),
    "facet_phase_name": (c_char_p, [c_int]),
    "facet_context_create": (c_int, [c_char_p, POINTER(c_void_p)]),
    "facet_context_destroy": (None, [POINTER(c_void_p)]),
    "facet_context_set_threads": (c_int, [c_void_p, c_int]),
    "facet_context_threads": (c_int, [c_void_p]),
    "facet_context_interrupt": (None, [c_void_p]),
    "facet_context_device": (c_char_p, [c_void_p]),
    "facet_device_alloc": (c_int, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "facet_device_free": (None, [c_void_p, POINTER(c_void_p)]),
    "facet_device_write": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t]),
    "facet_device_read": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t]),
    "facet_context_set_monitor": (None, [c_void_p, facet_monitor, c_void_p]),
    "facet_mesh_create_box": (c_int, [c_void_p, POINTER(facet_box), POINTER(c_void_p)]),
    "facet_mesh_read": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "facet_mesh_read_apart": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "facet_mesh_refine": (c_int, [c_void_p, c_int]),
    "facet_mesh_scale": (c_int, [c_void_p, c_double]),
    "facet_mesh_get_info": (c_int, [c_void_p, POINTER(facet_mesh_info)]),
    "facet_mesh_create_arrays": (c_int, [c_void_p, POINTER(facet_arrays), c_void_p, POINTER(c_void_p)]),
    "facet_mesh_n_points": (c_int, [c_void_p, c_void_p]),
    "facet_mesh_points": (c_int, [c_void_p, c_void_p]),
    "facet_mesh_n_blocks": (c_int, [c_void_p]),
    "facet_mesh_block": (c_int, [c_void_p, c_int, c_char_p, POINTER(facet_cells), c_void_p]),
    "facet_mesh_n_groups": (c_int, [c_void_p]),
    "facet_mesh_group": (c_int, [c_void_p, c_int, POINTER(facet_group)]),
    "facet_mesh_group_members": (c_int, [c_void_p, c_int, c_void_p, c_void_p, c_void_p]),
    "facet_mesh_quadrature": (c_int, [c_void_p, c_int, c_int, POINTER(c_char_p), c_void_p, c_void_p, c_void_p,
        c_void_p, c_void_p]),
    "facet_mesh_destroy": (None, [POINTER(c_void_p)]),
    "facet_problem_create": (c_int, [c_void_p, c_void_p, c_int, POINTER(c_void_p)]),
    "facet_problem_destroy": (None, [POINTER(c_void_p)]),
    "facet_problem_set_parameter": (c_int, [c_void_p, c_char_p, c_double]),
    "facet_problem_set_conductivity": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_char_p)]),
    "facet_problem_set_conductivity_function": (c_int, [c_void_p, c_char_p, c_int, facet_function, c_void_p]),
    "facet_problem_set_reaction": (c_int, [c_void_p, c_char_p]),
    "facet_problem_set_reaction_function": (c_int, [c_void_p, facet_function, c_void_p]),
    "facet_problem_set_source": (c_int, [c_void_p, c_char_p]),
    "facet_problem_set_group_reaction": (c_int, [c_void_p, c_char_p, c_char_p]),
    "facet_problem_set_group_source": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_char_p)]),
    "facet_problem_set_group_reaction_function": (c_int, [c_void_p, c_char_p, facet_function, c_void_p]),
    "facet_problem_set_group_source_function": (c_int, [c_void_p, c_char_p, facet_function, c_void_p]),
    "facet_problem_set_source_function": (c_int, [c_void_p, facet_function, c_void_p]),
    "facet_problem_set_exact": (c_int, [c_void_p, c_char_p]),
    "facet_problem_set_dirichlet": (c_int, [c_void_p, c_char_p, c_char_p]),
    "facet_problem_set_dirichlet_function": (c_int, [c_void_p, c_char_p, facet_function, c_void_p]),
    "facet_problem_set_neumann": (c_int, [c_void_p, c_char_p, c_char_p]),
    "facet_problem_set_neumann_function": (c_int, [c_void_p, c_char_p, facet_function, c_void_p]),
    "facet_problem_set_robin": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p]),
    "facet_problem_set_robin_function": (c_int, [c_void_p, c_char_p, facet_function, c_void_p, facet_function,
        c_void_p]),
    "facet_problem_set_total_flux": (c_int, [c_void_p, c_int, POINTER(c_char_p), c_char_p]),
    "facet_problem_set_interface": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p]),
    "facet_problem_set_jump": (c_int, [c_void_p, c_int, POINTER(c_char_p)]),
    "facet_problem_set_material": (c_int, [c_void_p, c_char_p, c_char_p, POINTER(c_char_p)]),
    "facet_problem_set_material_function": (c_int, [c_void_p, c_char_p, c_char_p, facet_function, c_void_p]),
    "facet_problem_set_orthotropic": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_char_p), c_int,
        POINTER(c_char_p)]),
    "facet_problem_set_vector_source": (c_int, [c_void_p, c_int, POINTER(c_char_p)]),
    "facet_problem_set_vector_exact": (c_int, [c_void_p, c_int, POINTER(c_char_p)]),
    "facet_problem_set_expansion": (c_int, [c_void_p, c_char_p, c_char_p]),
    "facet_problem_set_expansion_function": (c_int, [c_void_p, c_char_p, facet_function, c_void_p]),
    "facet_problem_set_temperature": (c_int, [c_void_p, c_char_p, c_char_p]),
    "facet_problem_set_temperature_function": (c_int, [c_void_p, facet_function, c_void_p, c_char_p]),
    "facet_problem_set_temperature_field": (c_int, [c_void_p, c_void_p, c_char_p, c_char_p]),
    "facet_problem_set_displacement": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_char_p)]),
    "facet_problem_set_traction": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_char_p)]),
    "facet_problem_set_displacement_function": (c_int, [c_void_p, c_char_p, c_void_p, facet_function, c_void_p]),
    "facet_problem_set_traction_function": (c_int, [c_void_p, c_char_p, c_void_p, facet_function, c_void_p]),
    "facet_problem_set_pressure": (c_int, [c_void_p, c_char_p, c_char_p]),
    "facet_problem_set_pressure_function": (c_int, [c_void_p, c_char_p, facet_function, c_void_p]),
    "facet_problem_set_force": (c_int, [c_void_p, c_int, POINTER(c_char_p), c_int, POINTER(c_char_p)]),
    "facet_problem_set_spring": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_char_p)]),
    "facet_problem_set_spring_function": (c_int, [c_void_p, c_char_p, c_int, facet_function, c_void_p]),
    "facet_problem_set_symmetry": (c_int, [c_void_p, c_char_p]),
    "facet_problem_set_gradient_pressure": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_char_p)]),
    "facet_problem_set_gradient_pressure_function": (c_int, [c_void_p, c_char_p, facet_function, c_void_p]),
    "facet_options_default": (None, [POINTER(facet_options), c_size_t]),
    "facet_solver_create": (c_int, [c_void_p, POINTER(facet_options), POINTER(c_void_p)]),
    "facet_solver_destroy": (None, [POINTER(c_void_p)]),
    "facet_solver_n_points": (c_int64, [c_void_p]),
    "facet_solver_points": (c_int, [c_void_p, c_void_p]),
    "facet_solver_weights": (c_int, [c_void_p, c_void_p]),
    "facet_solver_solve": (c_int, [c_void_p, c_void_p, c_void_p]),
    "facet_solver_solve_n": (c_int, [c_void_p, c_int64, c_void_p, c_void_p]),
    "facet_solver_solve_device": (c_int, [c_void_p, c_void_p, c_void_p]),
    "facet_solver_set_guess": (c_int, [c_void_p, c_int64, c_void_p]),
    "facet_solver_set_reaction": (c_int, [c_void_p, c_double]),
    "facet_solver_set_parameter": (c_int, [c_void_p, c_char_p, c_double]),
    "facet_solver_set_time": (c_int, [c_void_p, c_double]),
    "facet_solver_update": (c_int, [c_void_p, c_void_p]),
    "facet_solver_report": (c_int, [c_void_p, POINTER(facet_report)]),
    "facet_solver_n_levels": (c_int, [c_void_p]),
    "facet_solver_level": (c_int, [c_void_p, c_int, POINTER(facet_level)]),
    "facet_solver_errors": (c_int, [c_void_p, POINTER(facet_errors)]),
    "facet_solver_take": (c_int, [c_void_p, c_char_p, c_int, c_char_p, c_int, POINTER(c_char_p), c_void_p,
        c_void_p]),
    "facet_solver_extreme": (c_int, [c_void_p, c_char_p, c_int, c_char_p, c_int, POINTER(c_char_p), c_void_p,
        c_void_p, c_void_p]),
    "facet_solver_history": (c_int, [c_void_p, c_int64, c_void_p, c_void_p]),
    "facet_solver_note": (c_int, [c_void_p, c_int, c_size_t, c_void_p]),
    "facet_solver_n_unknowns": (c_int64, [c_void_p]),
    "facet_solver_apply": (c_int, [c_void_p, c_int64, c_void_p, c_void_p]),
    "facet_solver_precondition": (c_int, [c_void_p, c_int64, c_void_p, c_void_p]),
    "facet_solver_system": (c_int, [c_void_p, c_int64, c_void_p, c_void_p]),
    "facet_solver_matrix": (c_int, [c_void_p, c_int64, c_void_p, c_void_p, c_void_p, c_void_p]),
    "facet_solver_potential": (c_int, [c_void_p, c_char_p, c_void_p]),
    "facet_solver_evaluate": (c_int, [c_void_p, c_char_p, c_int64, c_void_p, c_void_p]),
    "facet_solver_write": (c_int, [c_void_p, c_char_p, c_char_p]),
    "facet_field_create": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "facet_field_destroy": (None, [POINTER(c_void_p)]),
    "facet_field_update": (c_int, [c_void_p]),
    "facet_field_components": (c_int, [c_void_p]),
    "facet_field_evaluate": (c_int, [c_void_p, c_int64, c_void_p, c_void_p]),
    "facet_field_function": (c_int, [c_void_p, POINTER(facet_points), c_void_p]),
    "facet_sample_create": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_void_p)]),
    "facet_sample_destroy": (None, [POINTER(c_void_p)]),
    "facet_sample_get_info": (c_int, [c_void_p, POINTER(facet_sample_info)]),
    "facet_sample_cells": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "facet_sample_get_field": (c_int, [c_void_p, c_int, POINTER(facet_sample_field), c_void_p]),
    "facet_sample_write": (c_int, [c_void_p, c_char_p]),
    "facet_case_load": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_char_p), POINTER(c_void_p)]),
    "facet_case_parse": (c_int, [c_void_p, c_char_p, c_char_p, c_int, POINTER(c_char_p), POINTER(c_void_p)]),
    "facet_case_destroy": (None, [POINTER(c_void_p)]),
    "facet_case_count": (c_int, [c_void_p]),
    "facet_case_get_info": (c_int, [c_void_p, c_int, POINTER(facet_case_info)]),
    "facet_case_parameter": (c_int, [c_void_p, c_int, c_int, POINTER(c_char_p), c_void_p]),
    "facet_case_create_mesh": (c_int, [c_void_p, POINTER(c_void_p)]),
    "facet_case_create_problem": (c_int, [c_void_p, c_int, c_void_p, c_void_p, POINTER(c_void_p)]),
    "facet_case_options": (c_int, [c_void_p, c_int, POINTER(facet_options)]),
    "facet_case_solve": (c_int, [c_void_p, c_int]),
    "facet_case_mesh": (c_void_p, [c_void_p]),
    "facet_case_solver": (c_void_p, [c_void_p, c_int]),
    "facet_case_json": (c_char_p, [c_void_p]),
    "facet_case_value": (c_int, [c_void_p, c_int, c_int, c_void_p, POINTER(facet_value), c_int64, c_void_p]),
}
